/**
 * Records of a pack file. Each has a header of 16 bytes, then its payload:
 *
 *     0  2  the letters "PK"
 *     2  1  kind: 1 block, 2 note
 *     3  1  codec: 0 as it is, 1 zstd, 2 zstd with a dictionary
 *     4  4  bytes of the payload, little endian
 *     8  4  bytes of the content
 *    12  4  CRC-32 of the first 12 bytes and the payload
 *
 * The payload of a block begins with the SHA-256 of its content; with codec 2 the SHA-256 of the block that is its dictionary follows.
 */
import { crc32, constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

export const BLOCK = 1;
export const NOTE = 2;
const PLAIN = 0;
const ZSTD = 1;
const ZSTD_DICTIONARY = 2;

export const HEADER_BYTES = 16;
export const HASH_BYTES = 32;
const MAGIC = 0x4b50;
const LEVEL = { [constants.ZSTD_c_compressionLevel]: 3 };
/** Least size of a buffer for an output that zlib takes. */
const LEAST_OUTPUT = 64;

export interface RecordHead {
  kind: number;
  codec: number;
  /** Bytes of the payload. */
  stored: number;
  /** Bytes of the content. */
  plain: number;
  crc: number;
}

export interface Dictionary {
  hash: Uint8Array;
  content: Uint8Array;
}

/** A block of content, compressed where that makes it smaller. */
export function blockRecord(hash: Uint8Array, content: Uint8Array, dictionary?: Dictionary): Buffer {
  const small = compressed(content, dictionary?.content);
  const base = dictionary ? [dictionary.hash] : [];
  if (small.length + base.length * HASH_BYTES >= content.length)
    return record(BLOCK, PLAIN, content.length, [hash, content]);
  return record(BLOCK, dictionary ? ZSTD_DICTIONARY : ZSTD, content.length, [hash, ...base, small]);
}

/** A note: one JSON value. */
export function noteRecord(note: unknown): Buffer {
  const content = Buffer.from(JSON.stringify(note));
  const small = compressed(content);
  if (small.length >= content.length) return record(NOTE, PLAIN, content.length, [content]);
  return record(NOTE, ZSTD, content.length, [small]);
}

/** One buffer for the output: by default zlib joins pieces of 16 KiB. */
function compressed(content: Uint8Array, dictionary?: Uint8Array): Buffer {
  const chunkSize = Math.max(LEAST_OUTPUT, content.length);
  return zstdCompressSync(content, { params: LEVEL, chunkSize, ...(dictionary && { dictionary }) });
}

function record(kind: number, codec: number, plain: number, parts: readonly Uint8Array[]): Buffer {
  const payload = Buffer.concat(parts);
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt16LE(MAGIC, 0);
  head[2] = kind;
  head[3] = codec;
  head.writeUInt32LE(payload.length, 4);
  head.writeUInt32LE(plain, 8);
  head.writeUInt32LE(sum(head, payload), 12);
  return Buffer.concat([head, payload]);
}

function sum(head: Uint8Array, payload: Uint8Array): number {
  return crc32(payload, crc32(head.subarray(0, 12)));
}

/** The head of a record; undefined where the bytes are none. */
export function readHead(bytes: Buffer): RecordHead | undefined {
  if (bytes.length < HEADER_BYTES || bytes.readUInt16LE(0) !== MAGIC) return undefined;
  return {
    kind: bytes[2] ?? 0,
    codec: bytes[3] ?? 0,
    stored: bytes.readUInt32LE(4),
    plain: bytes.readUInt32LE(8),
    crc: bytes.readUInt32LE(12),
  };
}

/** Whether the payload is the one that was written with the head. */
export function isWhole(head: Buffer, payload: Uint8Array): boolean {
  return head.readUInt32LE(12) === sum(head, payload);
}

/** The hash of a block, from its payload. */
export function hashOf(payload: Buffer): Buffer {
  return payload.subarray(0, HASH_BYTES);
}

/** The content of a record; `block` reads the dictionary. Throws the errors of zlib. */
export function contentOf(head: RecordHead, payload: Buffer, block: (hash: Buffer) => Buffer): Buffer {
  const body = head.kind === BLOCK ? payload.subarray(HASH_BYTES) : payload;
  if (head.codec === PLAIN) return body;
  // One byte more, with which the end of the output is known at once.
  const chunkSize = Math.max(LEAST_OUTPUT, head.plain + 1);
  if (head.codec === ZSTD) return zstdDecompressSync(body, { chunkSize });
  const dictionary = block(body.subarray(0, HASH_BYTES));
  return zstdDecompressSync(body.subarray(HASH_BYTES), { chunkSize, dictionary });
}
