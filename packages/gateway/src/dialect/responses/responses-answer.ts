/** Answers that the gateway creates itself. */
import type { Usage } from "@pagurus/contract/message";
import type { ItemFields } from "@pagurus/core/protocols/responses/responses-items";
import type { WireFault, WireReply, WireRequest } from "../wire-dialect.ts";
import { AnswerEvents, outputText, usageMembers } from "./responses-events.ts";
import { ResponsesItem } from "./responses-item.ts";
import { COMPACTION_TRIGGER } from "./responses-read.ts";
import { sealed } from "../sealed-summary.ts";
import { defined } from "@pagurus/core/data/defined";

export function answerWithText(request: WireRequest, text: string, usage: Usage): WireReply {
  const events = new AnswerEvents(request);
  if (request.compaction?.isWhole === true) return compactedWindow(request, events, { text, usage });
  const item = answerItem(request, events, text);
  const first = events.begin();
  const element = events.element(item, item["type"] === "message" ? { ...item, content: [] } : item);
  const body = Buffer.concat([first, element, events.end("completed", usageMembers(usage))]);
  return { status: 200, headers: events.headers, body };
}

/** The answer of `/responses/compact`: the window that the client continues with. */
function compactedWindow(
  request: WireRequest,
  events: AnswerEvents,
  { text, usage }: { text: string; usage: Usage },
): WireReply {
  const body = {
    id: events.id("resp"),
    object: "response.compaction",
    created_at: events.created,
    output: [compactionItem(request, events, text)],
    ...usageMembers(usage),
  };
  const headers = { "content-type": "application/json" };
  return { status: 200, headers, body: Buffer.from(JSON.stringify(body)) };
}

function compactionItem({ native }: WireRequest, events: AnswerEvents, summary: string): ItemFields {
  const { contentId } = native;
  const content = sealed({ summary, ...defined({ contentId }) });
  return { type: "compaction", id: events.id("cmp"), encrypted_content: content };
}

/** Whether a request of the Responses API asks for a compaction that leaves an element of its own: by its address, or a trigger. */
export function leavesElement({ compaction, items }: WireRequest): boolean {
  const last = items.at(-1);
  return last instanceof ResponsesItem && (compaction?.isWhole === true || last.type === COMPACTION_TRIGGER);
}

function answerItem(request: WireRequest, events: AnswerEvents, text: string): ItemFields {
  if (leavesElement(request)) return compactionItem(request, events, text);
  const id = events.id("msg");
  return { id, type: "message", role: "assistant", status: "completed", content: [outputText(text)] };
}

const FAULTS: Readonly<Record<WireFault, { status: number; type: string; code: string }>> = {
  bad_request: { status: 400, type: "invalid_request_error", code: "invalid_request" },
  unauthorized: { status: 401, type: "invalid_request_error", code: "invalid_api_key" },
  not_found: { status: 404, type: "invalid_request_error", code: "not_found" },
  too_large: { status: 413, type: "invalid_request_error", code: "payload_too_large" },
  overloaded: { status: 503, type: "server_error", code: "server_is_overloaded" },
  context_overflow: { status: 400, type: "invalid_request_error", code: "context_length_exceeded" },
  cost_limit: { status: 402, type: "insufficient_quota", code: "cost_limit" },
  upstream_failed: { status: 502, type: "server_error", code: "upstream_failed" },
  internal: { status: 500, type: "server_error", code: "internal_error" },
};

export function answerFault(fault: WireFault, message: string): WireReply {
  const { status, type, code } = FAULTS[fault];
  const body = Buffer.from(JSON.stringify({ error: { message, type, param: null, code } }));
  return { status, headers: { "content-type": "application/json" }, body };
}
