/**
 * Threads of the Messages API, which hold a conversation at the provider. This server finds conversations by what clients resend, so a
 * new thread needs nothing, and one that is continued is answered as lost: Anthropic's library then sends the whole conversation.
 */
import { recordOf } from "@pagurus/core/data/record-fields";
import type { WireReply } from "@pagurus/gateway/dialect/wire-dialect";
import type { Endpoint } from "./fields.ts";

/** The reply to a request that continues a thread; undefined for any other request. */
export function lostThread(
  endpoint: Endpoint,
  asked: Readonly<Record<string, unknown>>,
): WireReply | undefined {
  if (endpoint !== "/messages" || recordOf(asked["thread"])["type"] !== "continue") return undefined;
  const message = "This server keeps no message threads; send the whole conversation.";
  const error = { type: "not_found_error", message, details: { error_code: "thread_not_found" } };
  return {
    status: 404,
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify({ type: "error", error })),
  };
}
