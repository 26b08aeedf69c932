/** The stored bytes of a captured request: whole for its parts, or a range without reading the rest into memory. */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import { captureFolder } from "@pagurus/core/config/captures";
import { partFile, type CaptureRecord, type StoredBody } from "@pagurus/gateway/capture/capture-record";
import { headerOf, type CaptureSession } from "@pagurus/gateway/capture/read-capture";

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Limit on a body whose parts are computed, bytes; the gateway accepts no larger one. */
const MOST_BYTES = 64 * 2 ** 20;

/** One body of a captured request on the disk. */
export class StoredRequestBody {
  readonly #file: string;
  readonly #decoder: (() => Transform) | undefined;
  /** Facts of the stored bytes, which may be compressed. */
  readonly about: StoredBody;

  private constructor(file: string, record: CaptureRecord, about: StoredBody) {
    this.#file = file;
    this.about = about;
    const encoding = headerOf(record.headers, "content-encoding")?.trim().toLowerCase() ?? "";
    this.#decoder = DECODERS[encoding];
  }

  /** As it was sent in an attempt, from 1; undefined where that attempt sent nothing. */
  static sent(
    session: CaptureSession,
    record: CaptureRecord,
    attempt: number,
  ): StoredRequestBody | undefined {
    const sent = record.sent[attempt - 1];
    if (!sent) return undefined;
    if (sent.body === "same") return StoredRequestBody.harness(session, record);
    const folder = captureFolder(session.home, session.agentId, session.sessionKey);
    return new StoredRequestBody(partFile(folder, record.number, "sent", attempt), record, sent.body);
  }

  /** As the harness sent it. */
  static harness(session: CaptureSession, record: CaptureRecord): StoredRequestBody {
    const folder = captureFolder(session.home, session.agentId, session.sessionKey);
    return new StoredRequestBody(partFile(folder, record.number, "harness"), record, record.harness);
  }

  /** Whether the offsets of parts are those of the decoded body, which was compressed on the wire. */
  get isEncoded(): boolean {
    return this.#decoder !== undefined;
  }

  /** All bytes, decoded; undefined where the file is gone, cannot be decoded or is too large. */
  async whole(): Promise<Buffer | undefined> {
    try {
      if ((await stat(this.#file)).size > MOST_BYTES) return undefined;
      return await this.#read(0, MOST_BYTES + 1).then((bytes) =>
        bytes.length > MOST_BYTES ? undefined : bytes,
      );
    } catch {
      // Deleted meanwhile, or cut while it was written.
      return undefined;
    }
  }

  /** The decoded bytes from `from` to before `to`; fewer at the end. Undefined where the file is gone or cannot be decoded. */
  async range(from: number, to: number): Promise<Buffer | undefined> {
    try {
      if (this.#decoder) return await this.#read(from, to);
      const handle = await open(this.#file, "r");
      try {
        const { bytesRead, buffer } = await handle.read(Buffer.alloc(to - from), 0, to - from, from);
        return buffer.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    } catch {
      // As above.
      return undefined;
    }
  }

  /** Reads the decoded stream up to `to` and keeps what is wanted of it. */
  async #read(from: number, to: number): Promise<Buffer> {
    const file = createReadStream(this.#file);
    const decoder = this.#decoder?.();
    const stream = decoder ? pipeline(file, decoder, () => undefined) : file;
    const kept: Buffer[] = [];
    let at = 0;
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        if (at + chunk.length > from)
          kept.push(chunk.subarray(Math.max(0, from - at), Math.min(chunk.length, to - at)));
        at += chunk.length;
        if (at >= to) break;
      }
    } finally {
      file.destroy();
      decoder?.destroy();
    }
    return Buffer.concat(kept);
  }
}
