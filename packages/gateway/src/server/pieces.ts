/**
 * Writes an answer's chunks directly to the socket, past the response object: a third of the cost. With hundreds of streams this
 * cost delays each of them.
 */
import type { Writable } from "node:stream";

/** Chunks up to this length are copied into one buffer. */
const COPIED = 16 * 2 ** 10;
const LINE = Buffer.from("\r\n");

export interface PieceTarget {
  to: Writable;
  /** Adds the frames of HTTP's chunked coding. */
  isChunked: boolean;
  /** Called when `to` has to drain before more is added. */
  onFull(): void;
}

export class PieceSender {
  readonly #target: PieceTarget;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(target: PieceTarget) {
    this.#target = target;
  }

  /** The chunk is sent before the event loop does anything else, together with the other chunks of the same read. */
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

  /** Whether all chunks were passed to the socket. */
  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Drops all chunks, when no client takes them any more. */
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
