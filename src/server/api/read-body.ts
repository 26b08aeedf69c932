import type { IncomingMessage } from "node:http";
import { PagurusError } from "../../contract/errors.ts";

/** Longest body, bytes: there is enough for a few images. */
const MOST_BYTES = 32 * 2 ** 20;

/** The body's text. Throws `body_too_long` before it has read more than is allowed, and `usage_invalid` for one that is cut off. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const length = Number(request.headers["content-length"] ?? 0);
  if (length > MOST_BYTES) throw tooLong();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) throw tooLong();
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof PagurusError) throw cause;
    throw new PagurusError("usage_invalid", "The body was cut off; send the request again.", { cause });
  }
  return Buffer.concat(chunks).toString("utf8");
}

function tooLong(): PagurusError {
  return new PagurusError("body_too_long", `The body has more than ${MOST_BYTES} bytes; send less.`);
}
