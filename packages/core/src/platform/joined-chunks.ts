/**
 * Bodies that come in chunks of a few bytes: each chunk would be an object of a hundred bytes that holds the whole read of the socket, and
 * a call of every reader. Joined where the server gets them, they cost as much as a body of the same length in one piece.
 */
import type { IncomingMessage } from "node:http";

/** Chunks of this length are passed on as they are. */
const LONG_CHUNK = 4 * 2 ** 10;
/** Longest read of a socket. */
const BLOCK = 64 * 2 ** 10;
/** Pieces of a body that are kept apart whatever their length. */
const MOST_PIECES = 512;

/** Joins the short chunks of one read; the socket is read again in the next turn of the event loop. Call it before the body is read. */
export function joinChunks(request: IncomingMessage): void {
  if (request.headers["transfer-encoding"] === undefined) return;
  const push = request.push.bind(request);
  let block: Buffer | undefined;
  let used = 0;
  const flush = (): void => {
    if (!block || used === 0) return;
    const piece = Buffer.from(block.subarray(0, used));
    used = 0;
    // The answer may have come before the rest of the body.
    if (!request.destroyed) push(piece);
  };
  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (!Buffer.isBuffer(chunk) || chunk.length >= LONG_CHUNK) {
      flush();
      return push(chunk, encoding);
    }
    block ??= Buffer.allocUnsafe(BLOCK);
    if (used + chunk.length > BLOCK) flush();
    if (used === 0) setImmediate(flush);
    used += chunk.copy(block, used);
    return false;
  };
}

/** Collects the pieces of a body: in a buffer of the announced length, or in a list that stays short. */
export class BodyPieces {
  readonly #length: number | undefined;
  #whole: Buffer | undefined;
  #pieces: Buffer[] = [];
  size = 0;

  constructor(length: number | undefined) {
    this.#length = length;
  }

  add(piece: Buffer): void {
    this.size += piece.length;
    if (this.#length !== undefined && piece.length !== this.#length) {
      // Filled as the body comes: to join the pieces of a long one at its end takes a while.
      piece.copy((this.#whole ??= Buffer.allocUnsafe(this.#length)), this.size - piece.length);
      return;
    }
    this.#pieces.push(piece);
    const { length } = this.#pieces;
    if (length >= MOST_PIECES && this.size < length * LONG_CHUNK)
      this.#pieces = [Buffer.concat(this.#pieces)];
  }

  whole(): Buffer {
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.size);
    const [first, ...more] = this.#pieces;
    return first !== undefined && more.length === 0 ? first : Buffer.concat(this.#pieces);
  }
}
