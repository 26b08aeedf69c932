/**
 * Writes the pieces of an answer past the response object: a third of the cost, and with hundreds of streams that cost is
 * what each of them waits for.
 */
import type { Writable } from "node:stream";

/** Up to this length pieces are copied into one buffer. */
const COPIED = 16 * 2 ** 10;
const LINE = Buffer.from("\r\n");

export interface PieceTarget {
  to: Writable;
  /** The pieces get the frame of HTTP's chunked coding here. */
  isChunked: boolean;
  /** No more until `to` drains. */
  onFull(): void;
}

export class PieceSender {
  readonly #target: PieceTarget;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(target: PieceTarget) {
    this.#target = target;
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
    const parts = this.#target.isChunked ? this.#framed() : this.#pieces;
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
    const { to, onFull } = this.#target;
    if (more.length > 0) to.cork();
    let takesMore = to.write(only);
    for (const part of more) takesMore = to.write(part);
    if (more.length > 0) to.uncork();
    if (!takesMore) onFull();
  }
}
