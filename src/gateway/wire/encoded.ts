/** Reads an answer that comes compressed, as providers send it to a harness that takes such: all of it at its end. */
import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import type { AnswerReader, Dialect, WireAnswer, WireHeaders } from "./dialect/dialect.ts";

/** What is read at all; beyond it the answer passes unread. */
const MOST_BYTES = 64 * 1024 * 1024;
const LIMIT = { maxOutputLength: MOST_BYTES };
/** Of an answer that was cut, what came is read. */
const FLUSH = { ...LIMIT, finishFlush: constants.Z_SYNC_FLUSH };
const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes, FLUSH),
  "x-gzip": (bytes) => gunzipSync(bytes, FLUSH),
  deflate: (bytes) => inflateSync(bytes, FLUSH),
  br: (bytes) => brotliDecompressSync(bytes, { ...LIMIT, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: (bytes) => zstdDecompressSync(bytes, { ...LIMIT, finishFlush: constants.ZSTD_e_flush }),
};

class EncodedReader implements AnswerReader {
  readonly #decode: (bytes: Buffer) => Buffer;
  readonly #reader: AnswerReader;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(decode: (bytes: Buffer) => Buffer, reader: AnswerReader) {
    this.#decode = decode;
    this.#reader = reader;
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    // A copy: the caller's buffer may be used again.
    if (this.#bytes <= MOST_BYTES) this.#chunks.push(Buffer.from(chunk));
  }

  end(): WireAnswer {
    try {
      this.#reader.take(this.#decode(Buffer.concat(this.#chunks)));
    } catch {
      // Not encoded as its header says, or too long: nothing of it can be read.
    }
    this.#chunks = [];
    return this.#reader.end();
  }
}

/** The dialect's reader of an answer, behind what its content encoding needs. */
export function readerOf(dialect: Dialect, status: number, headers: WireHeaders): AnswerReader {
  const encoding = String(headers["content-encoding"] ?? "");
  const decode = DECODERS[encoding.trim().toLowerCase()];
  const reader = dialect.reader(status, headers);
  return decode ? new EncodedReader(decode, reader) : reader;
}
