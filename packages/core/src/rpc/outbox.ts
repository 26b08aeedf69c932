import type { Writable } from "node:stream";

interface Waiting {
  line: string;
}

/**
 * Queue of outgoing lines, in order. While the other side does not read, they wait here and not in the stream, so that a
 * cancelled one is never sent.
 */
export class Outbox {
  readonly #output: Writable;
  #waiting: Waiting[] = [];
  #blocked = false;
  #closed = false;

  constructor(output: Writable) {
    this.#output = output;
    output.on("drain", this.#drained);
  }

  /** Lines that wait because the other side's buffer is full. */
  get length(): number {
    return this.#waiting.length;
  }

  /** The returned function removes the line from the queue; false when it was sent already. */
  send(message: object): () => boolean {
    if (this.#closed) return () => false;
    const entry = { line: JSON.stringify(message) + "\n" };
    this.#waiting.push(entry);
    this.#flush();
    return () => {
      const at = this.#waiting.indexOf(entry);
      if (at !== -1) this.#waiting.splice(at, 1);
      return at !== -1;
    };
  }

  close(): void {
    this.#closed = true;
    this.#waiting = [];
    this.#output.off("drain", this.#drained);
  }

  readonly #drained = (): void => {
    this.#blocked = false;
    this.#flush();
  };

  #flush(): void {
    while (!this.#blocked && !this.#closed) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#blocked = !this.#output.write(next.line);
    }
  }
}
