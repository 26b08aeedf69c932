/**
 * Writes the pieces of an answer past the response object: a third of the cost, and with hundreds of streams that cost is
 * what each of them waits for.
 */
import type { Writable } from "node:stream";

/** Up to this length pieces are copied into one buffer; longer ones are cheaper by themselves. */
const COPIED = 16 * 2 ** 10;
const LINE = Buffer.from("\r\n");

export class PieceSender {
  readonly #to: Writable;
  readonly #isChunked: boolean;
  readonly #onFull: () => void;
  #pieces: Buffer[] = [];
  #length = 0;

  /** `isChunked`: the pieces get the frame of HTTP's chunked coding here. `onFull`: no more until `to` drains. */
  constructor(to: Writable, isChunked: boolean, onFull: () => void) {
    this.#to = to;
    this.#isChunked = isChunked;
    this.#onFull = onFull;
  }

  /** Goes out before the event loop does anything else, together with what came in the same read. */
  add(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#pieces.length === 0) process.nextTick(() => this.flush());
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  flush(): void {
    if (this.#pieces.length === 0) return;
    const parts = this.#isChunked ? this.#framed() : this.#pieces;
    const isShort = this.#length <= COPIED;
    this.drop();
    this.#write(isShort && parts.length > 1 ? [Buffer.concat(parts)] : parts);
  }

  /** Nobody is there to take it. */
  drop(): void {
    this.#pieces = [];
    this.#length = 0;
  }

  #framed(): Buffer[] {
    return [Buffer.from(`${this.#length.toString(16)}\r\n`, "latin1"), ...this.#pieces, LINE];
  }

  #write(parts: readonly Buffer[]): void {
    const [only, ...more] = parts;
    if (only === undefined) return;
    if (more.length > 0) this.#to.cork();
    let takesMore = this.#to.write(only);
    for (const part of more) takesMore = this.#to.write(part);
    if (more.length > 0) this.#to.uncork();
    if (!takesMore) this.#onFull();
  }
}
