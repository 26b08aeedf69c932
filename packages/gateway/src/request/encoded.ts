/** Decodes a compressed answer for its reader, all at its end. Providers compress answers for harnesses that accept it. */
import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { attempt } from "@pagurus/core/data/attempt";
import type { AnswerReader, Dialect, WireAnswer, WireHeaders, WireRequest } from "../dialect/wire-dialect.ts";

/** Limit of what is decoded; a longer answer passes unread. */
const MOST_BYTES = 64 * 1024 * 1024;
const DECODING_LIMIT = { maxOutputLength: MOST_BYTES };
/** Decodes what came of a cut answer. */
const FLUSH = { ...DECODING_LIMIT, finishFlush: constants.Z_SYNC_FLUSH };
const BODY_DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes, FLUSH),
  "x-gzip": (bytes) => gunzipSync(bytes, FLUSH),
  deflate: (bytes) => inflateSync(bytes, FLUSH),
  br: (bytes) =>
    brotliDecompressSync(bytes, { ...DECODING_LIMIT, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: (bytes) => zstdDecompressSync(bytes, { ...DECODING_LIMIT, finishFlush: constants.ZSTD_e_flush }),
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
    // Copied, as the caller may reuse its buffer.
    if (this.#bytes <= MOST_BYTES) this.#chunks.push(Buffer.from(chunk));
  }

  end(): WireAnswer {
    // Nothing can be read of an answer that is not encoded as its header states, or too long.
    attempt(() => this.#reader.take(this.#decode(Buffer.concat(this.#chunks))));
    this.#chunks = [];
    return this.#reader.end();
  }

  output(): readonly Record<string, unknown>[] {
    return this.#reader.output?.() ?? [];
  }
}

/** The dialect's reader of an answer to a request, with a decoder for its content encoding. */
export function decodingReader(
  dialect: Dialect,
  { status, headers }: { status: number; headers: WireHeaders },
  request?: WireRequest,
): AnswerReader {
  const encoding = String(headers["content-encoding"] ?? "");
  const decode = BODY_DECODERS[encoding.trim().toLowerCase()];
  const reader = dialect.reader(status, headers, request);
  return decode ? new EncodedReader(decode, reader) : reader;
}
