const NEWLINE = 0x0a;

/** Splits chunks of bytes into lines, whatever the chunk borders. A line is decoded once, as UTF-8, when it is complete. */
export class LineSplitter {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  /** `mostBytes` limits what is buffered of a line that does not end. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Buffered bytes of the unfinished line. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /** The lines that this chunk completes, without their ends. Throws RangeError when a line gets too long. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from);
      this.#hold(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) return lines;
      lines.push(this.#take());
      from = end + 1;
    }
  }

  #hold(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#mostBytes) {
      this.#parts = [];
      throw new RangeError(`a line of more than ${this.#mostBytes} bytes`);
    }
    this.#parts.push(part);
  }

  #take(): string {
    const [first] = this.#parts;
    const whole =
      this.#parts.length === 1 && first
        ? first.toString("utf8")
        : Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    return whole.endsWith("\r") ? whole.slice(0, -1) : whole;
  }
}
