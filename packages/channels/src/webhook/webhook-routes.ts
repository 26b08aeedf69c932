/**
 * `/hooks/<channel>` of the server: requests that prove themselves by a signature instead of a token, as Standard Webhooks has it:
 * HMAC-SHA256 of the id, the time and the body.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isRecord } from "@pagurus/core/data/record-fields";

const PREFIX = "/hooks/";
/** Longest body, bytes. */
const MOST_BYTES = 256 * 2 ** 10;

/** A status, or one with a body that is sent as JSON. */
export type WebhookAnswer = number | { status: number; body: object };

/** 202, or what the service wants, for a message that is on disk. Never throws. */
export type WebhookHandler = (headers: IncomingMessage["headers"], body: Buffer) => Promise<WebhookAnswer>;

export class WebhookRoutes {
  readonly #handlers = new Map<string, WebhookHandler>();

  handles(path: string): boolean {
    return path.startsWith(PREFIX);
  }

  /** Returns the function that removes it. */
  add(channel: string, handler: WebhookHandler): () => void {
    this.#handlers.set(channel, handler);
    return () => {
      if (this.#handlers.get(channel) === handler) this.#handlers.delete(channel);
    };
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const handler = this.#handlers.get(path.slice(PREFIX.length));
    const answer = (given: WebhookAnswer): void => {
      const { status, body } = typeof given === "number" ? { status: given, body: undefined } : given;
      // The rest of a body that is not read would be taken for the next request.
      response.writeHead(status, {
        connection: "close",
        ...(body && { "content-type": "application/json" }),
      });
      response.end(body && JSON.stringify(body));
    };
    if (request.method !== "POST") return answer(405);
    // A channel that is not connected now may be in a moment; the sender tries again.
    if (!handler) return answer(503);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) return answer(413);
      chunks.push(chunk);
    }
    return answer(await handler(request.headers, Buffer.concat(chunks)));
  }
}

/** How far the sender's clock may be away, s. An older request is a replay. */
const TOLERANCE_S = 300;
const ID = /^[\w.:-]{1,128}$/;

export interface WebhookMessage {
  id: string;
  from: string;
  name?: string;
  text: string;
  replyTo?: string;
}

/** The key of a secret: base64 after `whsec_`, else its bytes. */
function keyOf(secret: string): Buffer {
  return secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : Buffer.from(secret);
}

function bodySignature(
  secret: string,
  { id, seconds, body }: { id: string; seconds: string; body: Buffer },
): string {
  const hmac = createHmac("sha256", keyOf(secret)).update(`${id}.${seconds}.`).update(body);
  return `v1,${hmac.digest("base64")}`;
}

/** Headers of a request that this host sends. */
export function signedHeaders(secret: string, id: string, body: string, now: number): Record<string, string> {
  const seconds = String(Math.floor(now / 1_000));
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": bodySignature(secret, { id, seconds, body: Buffer.from(body) }),
  };
}

/** The id of a request that the holder of the secret has signed within the last minutes; undefined for any other. */
export function verifiedId(
  secret: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Buffer,
  now: number,
): string | undefined {
  const { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": given } = headers;
  if (typeof id !== "string" || typeof seconds !== "string" || typeof given !== "string") return undefined;
  if (!ID.test(id) || !/^\d{1,12}$/.test(seconds)) return undefined;
  if (Math.abs(now / 1_000 - Number(seconds)) > TOLERANCE_S) return undefined;
  const wanted = Buffer.from(bodySignature(secret, { id, seconds, body }));
  // Several, while a secret is replaced.
  const isSigned = given.split(" ").some((one) => {
    const bytes = Buffer.from(one);
    return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
  });
  return isSigned ? id : undefined;
}

/** `{from, text, name?, replyTo?}` of a body; undefined where it is none. */
export function messageIn(body: Buffer): Omit<WebhookMessage, "id"> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { from, text, name, replyTo } = value;
  if (typeof from !== "string" || typeof text !== "string" || !/^[^\p{Cc}]{1,200}$/u.test(from))
    return undefined;
  return {
    from,
    text,
    ...(typeof name === "string" && { name: name.slice(0, 200) }),
    ...(typeof replyTo === "string" && { replyTo: replyTo.slice(0, 200) }),
  };
}
