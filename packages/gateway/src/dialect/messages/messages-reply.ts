/** Responses that the gateway creates itself. */
import { randomBytes } from "node:crypto";
import type { Usage } from "@pagurus/contract/message";
import type { WireFault, WireReply, WireRequest } from "../wire-dialect.ts";
import { COMPACTION_BLOCK, compactionBlock } from "./messages-compaction.ts";
import {
  blockEvents,
  endEvents,
  errorBody,
  eventBytes,
  messageFields,
  type ErrorType,
} from "./messages-events.ts";

const FAULTS: Readonly<Record<WireFault, readonly [number, ErrorType]>> = {
  bad_request: [400, "invalid_request_error"],
  unauthorized: [401, "authentication_error"],
  not_found: [404, "not_found_error"],
  too_large: [413, "request_too_large"],
  overloaded: [529, "overloaded_error"],
  context_overflow: [400, "invalid_request_error"],
  cost_limit: [402, "billing_error"],
  upstream_failed: [502, "api_error"],
  internal: [500, "api_error"],
};
/** Claude Code recognizes a context overflow by this text. */
const TOO_LONG = "prompt is too long";

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
};
export const JSON_HEADERS = { "content-type": "application/json" };

export function newMessageId(): string {
  return `msg_${randomBytes(12).toString("hex")}`;
}

/**
 * Claude Code uses the text inside the tags, and asks once more if it finds none. Tags inside the text would cut it, and the content
 * of `analysis` is removed.
 */
function inTags(text: string): string {
  return `<summary>\n${text.replaceAll(/<(\/?(?:summary|analysis))>/gi, "[$1]")}\n</summary>`;
}

/** The answer to a compaction of the API itself: its block alone. */
function compacted(request: WireRequest, summary: string, usage: Usage): WireReply {
  const envelope = { id: newMessageId(), model: request.model, usage };
  const block = compactionBlock(request, summary);
  if (!request.stream) {
    const body = Buffer.from(JSON.stringify(messageFields(envelope, [block], COMPACTION_BLOCK)));
    return { status: 200, headers: { ...JSON_HEADERS }, body };
  }
  const { type, ...fields } = block;
  const empty = { type, content: null, encrypted_content: null };
  const body = Buffer.concat([
    eventBytes("message_start", { message: messageFields(envelope, [], null) }),
    ...blockEvents(0, empty, [{ type: "compaction_delta", ...fields }]),
    ...endEvents(COMPACTION_BLOCK, usage),
  ]);
  return { status: 200, headers: { ...STREAM_HEADERS }, body };
}

export function replyWith(request: WireRequest, text: string, usage: Usage): WireReply {
  if (request.compaction?.isWhole === true) return compacted(request, text, usage);
  const answer = request.kind === "compaction" ? inTags(text) : text;
  const envelope = { id: newMessageId(), model: request.model, usage };
  if (!request.stream) {
    const content = answer === "" ? [] : [{ type: "text", text: answer }];
    const body = Buffer.from(JSON.stringify(messageFields(envelope, content, "end_turn")));
    return { status: 200, headers: { ...JSON_HEADERS }, body };
  }
  const blocks =
    answer === "" ? [] : blockEvents(0, { type: "text", text: "" }, [{ type: "text_delta", text: answer }]);
  const body = Buffer.concat([
    eventBytes("message_start", { message: messageFields(envelope, [], null) }),
    ...blocks,
    ...endEvents("end_turn", usage),
  ]);
  return { status: 200, headers: { ...STREAM_HEADERS }, body };
}

export function faultReply(code: WireFault, message: string): WireReply {
  const [status, type] = FAULTS[code];
  const sentence =
    code === "context_overflow" && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message;
  return {
    status,
    headers: { ...JSON_HEADERS },
    body: Buffer.from(JSON.stringify(errorBody(type, sentence))),
  };
}
