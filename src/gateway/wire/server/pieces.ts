/**
 * Writes the pieces of an answer past the response object: a third of the cost, and with hundreds of streams that cost is
 * what each of them waits for.
 */
import type { Writable } from "node:stream";
import type { WritePace } from "./pace.ts";

/** Up to this length pieces are copied into one buffer, and wait where there is much to write; longer ones do not. */
const COPIED = 16 * 2 ** 10;
const LINE = Buffer.from("\r\n");

export interface PieceTarget {
  to: Writable;
  /** The pieces get the frame of HTTP's chunked coding here. */
  isChunked: boolean;
  pace: WritePace;
  /** No more until `to` drains. */
  onFull(): void;
}

export class PieceSender {
  readonly #target: PieceTarget;
  #pieces: Buffer[] = [];
  #length = 0;
  #lastWrite = Number.NEGATIVE_INFINITY;
  #held: NodeJS.Timeout | undefined;

  constructor(target: PieceTarget) {
    this.#target = target;
  }

  /**
   * Goes out before the event loop does anything else, together with what came in the same read; a few ms later, with what
   * comes until then, where many streams write at once.
   */
  add(piece: Buffer): void {
    if (piece.length === 0) return;
    const isFirst = this.#pieces.length === 0;
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (isFirst) this.#schedule();
    else if (this.#held !== undefined && this.#length > COPIED) this.flush();
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
    clearTimeout(this.#held);
    this.#held = undefined;
    this.#pieces = [];
    this.#length = 0;
  }

  #schedule(): void {
    const wait = this.#length > COPIED ? 0 : this.#target.pace.wait(this.#lastWrite, performance.now());
    if (wait <= 0) process.nextTick(() => this.flush());
    else this.#held = setTimeout(() => this.flush(), wait);
  }

  #framed(): Buffer[] {
    return [Buffer.from(`${this.#length.toString(16)}\r\n`, "latin1"), ...this.#pieces, LINE];
  }

  #write(parts: readonly Buffer[]): void {
    const [only, ...more] = parts;
    if (only === undefined) return;
    const { to, pace, onFull } = this.#target;
    this.#lastWrite = performance.now();
    pace.note(this.#lastWrite);
    if (more.length > 0) to.cork();
    let takesMore = to.write(only);
    for (const part of more) takesMore = to.write(part);
    if (more.length > 0) to.uncork();
    if (!takesMore) onFull();
  }
}
