import type { WireReply } from "@pagurus/gateway/dialect/wire-dialect";

/** A successful reply with this body. */
export function jsonReply(body: unknown): WireReply {
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(body)),
  };
}
