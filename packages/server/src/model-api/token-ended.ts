/** The last event of a stream whose token ended, in the protocol of its client. */
import { plainFault } from "@pagurus/gateway/server/faults";

export const TOKEN_ENDED = "The token was revoked or has expired; use another one.";

/** `path` without the version, for example "/messages". */
export function endedFrame(path: string): Buffer {
  if (path.startsWith("/responses")) {
    const data = { type: "error", code: "token_invalid", message: TOKEN_ENDED, param: null };
    return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`);
  }
  const { body } = plainFault(path, "unauthorized", TOKEN_ENDED);
  const event = path.startsWith("/messages") ? "event: error\n" : "";
  return Buffer.from(`${event}data: ${body.toString("utf8")}\n\n`);
}
