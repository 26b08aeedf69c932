/** Bodies of our API's requests as JSON values, within the bounds of length, items and depth. */
import type { IncomingMessage } from "node:http";
import { PagurusError } from "@pagurus/contract/errors";
import type { JsonBounds } from "@pagurus/core/platform/json/json-bounds";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import { BodyPieces } from "@pagurus/core/platform/joined-chunks";
import { readJson } from "@pagurus/core/platform/json/read-json";

/** Longest body, bytes: as Anthropic's API takes, enough for a few images. */
export const DEFAULT_BODY_BYTES = 32 * 2 ** 20;
/** A turn with a thousand parts has a few thousand items. */
const BOUNDS: JsonBounds = { maxItems: 20_000, maxDepth: 100, maxMembers: 2_000 };

interface BodyLimits {
  maxBytes: number;
  /** Called with the length of each piece. Throws `server_busy` if it may not be held. */
  onBytes(request: IncomingMessage, bytes: number): void;
}

export class RequestBodies {
  readonly #limits: BodyLimits;
  readonly #thread: JsonThread;

  constructor(limits: BodyLimits, thread: JsonThread) {
    this.#limits = limits;
    this.#thread = thread;
  }

  /** Undefined for an empty body. Throws as `bytes`, `usage_invalid` for what is no JSON. */
  async json(request: IncomingMessage): Promise<unknown> {
    const bytes = await this.bytes(request);
    if (bytes.length === 0) return undefined;
    try {
      return await readJson(bytes, BOUNDS, this.#thread);
    } catch (error) {
      if (error instanceof PagurusError) throw error;
      throw new PagurusError("usage_invalid", "The body is not JSON; send an object as application/json.");
    }
  }

  /** Throws `body_too_long` or `server_busy` before more is read than is allowed, `usage_invalid` for a body that was cut off. */
  async bytes(request: IncomingMessage): Promise<Buffer> {
    const length = Number(request.headers["content-length"] ?? 0);
    const { maxBytes, onBytes } = this.#limits;
    if (length > maxBytes) throw this.#tooLong();
    const pieces = new BodyPieces(length > 0 ? length : undefined);
    try {
      // A destroyed request could not be answered.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        if (pieces.size + chunk.length > maxBytes) throw this.#tooLong();
        onBytes(request, chunk.length);
        pieces.add(chunk);
      }
    } catch (cause) {
      if (cause instanceof PagurusError) throw cause;
      throw new PagurusError("usage_invalid", "The body was cut off; send the request again.", { cause });
    }
    return pieces.whole();
  }

  #tooLong(): PagurusError {
    return new PagurusError(
      "body_too_long",
      `The body has more than ${this.#limits.maxBytes} bytes; send less.`,
    );
  }
}
