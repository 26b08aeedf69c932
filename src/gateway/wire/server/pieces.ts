/**
 * Writes the pieces of an answer past the response object: a third of the cost, and with hundreds of streams that cost is
 * what each of them waits for.
 */
import type { Writable } from "node:stream";

/** Up to this length pieces are copied into one buffer; longer ones are cheaper by themselves. */
const COPIED = 16 * 2 ** 10;
const LINE = "\r\n";
/** Characters of a length in hexadecimal and the line end behind it, at most. */
const FRAME = 16;

export class PieceSender {
  readonly #to: Writable;
  readonly #isChunked: boolean;
  readonly #onFull: () => void;
  readonly #flush = (): void => this.flush();
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
    if (this.#pieces.length === 0) process.nextTick(this.#flush);
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  flush(): void {
    if (this.#pieces.length === 0) return;
    const parts = this.#length <= COPIED ? [this.#joined()] : this.#isChunked ? this.#framed() : this.#pieces;
    this.drop();
    this.#write(parts);
  }

  /** Nobody is there to take it. */
  drop(): void {
    this.#pieces = [];
    this.#length = 0;
  }

  #framed(): Buffer[] {
    const frame = Buffer.from(`${this.#length.toString(16)}${LINE}`, "latin1");
    return [frame, ...this.#pieces, Buffer.from(LINE)];
  }

  /** All in one buffer, the frame included: what most events of a stream are written as. */
  #joined(): Buffer {
    const [first] = this.#pieces;
    if (!this.#isChunked && this.#pieces.length === 1 && first !== undefined) return first;
    const whole = Buffer.allocUnsafe(this.#length + FRAME);
    let at = this.#isChunked ? whole.write(`${this.#length.toString(16)}${LINE}`, 0, "latin1") : 0;
    for (const piece of this.#pieces) at += piece.copy(whole, at);
    if (this.#isChunked) at += whole.write(LINE, at, "latin1");
    return whole.subarray(0, at);
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
