/** Responses that the gateway makes by itself. */
import { createHash } from "node:crypto";
import type { Usage } from "../../../../contract/message.ts";
import type { WireFault, WireReply, WireRequest } from "../dialect.ts";
import { blockEvents, endEvents, errorBody, eventBytes, messageFields, type ErrorType } from "./events.ts";

const FAULTS: Readonly<Record<WireFault, readonly [number, ErrorType]>> = {
  bad_request: [400, "invalid_request_error"],
  unauthorized: [401, "authentication_error"],
  not_found: [404, "not_found_error"],
  too_large: [413, "request_too_large"],
  overloaded: [529, "overloaded_error"],
  context_overflow: [400, "invalid_request_error"],
  upstream_failed: [502, "api_error"],
  internal: [500, "api_error"],
};
/** Claude Code knows a context that does not fit by these words. */
const TOO_LONG = "prompt is too long";

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
};
export const JSON_HEADERS = { "content-type": "application/json" };

/** The same request has the same id. */
export function messageId({ body }: WireRequest): string {
  return `msg_${createHash("sha256").update(body).digest("hex").slice(0, 24)}`;
}

/**
 * Claude Code takes what stands in the tags, and asks once more where it finds none. Tags inside of the words would cut them:
 * what stands in `analysis` is taken out.
 */
function inTags(text: string): string {
  return `<summary>\n${text.replaceAll(/<(\/?(?:summary|analysis))>/gi, "[$1]")}\n</summary>`;
}

export function replyWith(request: WireRequest, text: string, usage: Usage): WireReply {
  const said = request.kind === "compaction" ? inTags(text) : text;
  const envelope = { id: messageId(request), model: request.model, usage };
  if (!request.stream) {
    const content = said === "" ? [] : [{ type: "text", text: said }];
    const body = Buffer.from(JSON.stringify(messageFields(envelope, content, "end_turn")));
    return { status: 200, headers: { ...JSON_HEADERS }, body };
  }
  const blocks =
    said === "" ? [] : blockEvents(0, { type: "text", text: "" }, [{ type: "text_delta", text: said }]);
  const body = Buffer.concat([
    eventBytes("message_start", { message: messageFields(envelope, [], null) }),
    ...blocks,
    ...endEvents("end_turn", usage),
  ]);
  return { status: 200, headers: { ...STREAM_HEADERS }, body };
}

export function faultReply(code: WireFault, message: string): WireReply {
  const [status, type] = FAULTS[code];
  const said =
    code === "context_overflow" && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message;
  return { status, headers: { ...JSON_HEADERS }, body: Buffer.from(JSON.stringify(errorBody(type, said))) };
}
