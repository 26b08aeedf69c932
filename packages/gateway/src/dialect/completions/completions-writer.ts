/** Writes a model's answer in the Chat Completions API: as events, or as one JSON body. */
import { randomBytes } from "node:crypto";
import type { AssistantMessage, Usage } from "@pagurus/contract/message";
import { recordOf } from "@pagurus/core/data/record-fields";
import type { ModelPart } from "@pagurus/core/model/provider-types";
import { JsonScanError, objectMembers, parsePart, wholeValue } from "../../json/scan.ts";
import { sseBytes } from "@pagurus/core/protocols/sse";
import type { AnswerWriter, WireRequest } from "../wire-dialect.ts";
import { callFields } from "@pagurus/core/protocols/completions/completions-messages";
import { usageFields } from "@pagurus/core/protocols/completions/completions-usage";

const NOTHING = Buffer.alloc(0);
const JSON_HEADERS = { "content-type": "application/json" };
const EVENT_HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

/** Usage is sent in a last chunk only if the client asked for it. */
function wantsUsage({ body }: WireRequest): boolean {
  try {
    const options = objectMembers(body, wholeValue(body)).get("stream_options");
    return options !== undefined && recordOf(parsePart(body, options))["include_usage"] === true;
  } catch (error) {
    // Invalid in a part that no earlier step had to read.
    if (error instanceof JsonScanError) return false;
    throw error;
  }
}

function headOf(request: WireRequest, object: string): Record<string, unknown> {
  const id = randomBytes(12).toString("hex");
  return { id: `chatcmpl-${id}`, object, created: Math.floor(Date.now() / 1000), model: request.model };
}

function finishReason({ stopReason, content }: AssistantMessage): string {
  if (stopReason === "length") return "length";
  return content.some(({ type }) => type === "toolCall") ? "tool_calls" : "stop";
}

function joinedText(message: AssistantMessage, type: "text" | "thinking"): string {
  return message.content
    .map((part) => {
      if (part.type !== type) return "";
      return part.type === "text" ? part.text : part.type === "thinking" ? part.thinking : "";
    })
    .join("");
}

/** The answer to a request without a stream, including calls. */
function wholeAnswer(request: WireRequest, message: AssistantMessage): Buffer {
  const words = joinedText(message, "text");
  const thinking = joinedText(message, "thinking");
  const calls = message.content.filter((part) => part.type === "toolCall");
  const answer = {
    role: "assistant",
    content: words === "" && calls.length > 0 ? null : words,
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length > 0 ? { tool_calls: calls.map(callFields) } : {}),
  };
  const choice = { index: 0, message: answer, logprobs: null, finish_reason: finishReason(message) };
  const counts = message.usage ? { usage: usageFields(message.usage) } : {};
  const body = { ...headOf(request, "chat.completion"), choices: [choice], ...counts };
  return Buffer.from(JSON.stringify(body));
}

export class CompletionsWriter implements AnswerWriter {
  readonly head: { status: number; headers: Record<string, string> };
  readonly #request: WireRequest;
  readonly #chunkHead: Record<string, unknown>;
  readonly #wantsUsage: boolean;
  #hasBegun = false;
  #hasText = false;
  #hasEnded = false;

  constructor(request: WireRequest) {
    this.#request = request;
    this.head = { status: 200, headers: { ...(request.stream ? EVENT_HEADERS : JSON_HEADERS) } };
    this.#chunkHead = headOf(request, "chat.completion.chunk");
    this.#wantsUsage = request.stream && wantsUsage(request);
  }

  write(part: ModelPart): Buffer {
    if (this.#hasEnded) return NOTHING;
    if (part.type === "finish") return this.#finish(part.message);
    if (part.type === "retry") return this.#hasBegun ? this.fail(part.reason) : NOTHING;
    if (!this.#request.stream) return NOTHING;
    this.#hasText ||= part.type === "text";
    return this.#delta(part.type === "text" ? { content: part.delta } : { reasoning_content: part.delta });
  }

  fail(message: string): Buffer {
    if (this.#hasEnded) return NOTHING;
    this.#hasEnded = true;
    const body = JSON.stringify({ error: { message, type: "server_error", param: null, code: null } });
    return this.#request.stream ? sseBytes({ data: body }) : Buffer.from(body);
  }

  #finish(message: AssistantMessage): Buffer {
    this.#hasEnded = true;
    if (!this.#request.stream) return wholeAnswer(this.#request, message);
    const words = this.#hasText ? "" : joinedText(message, "text");
    const pieces = words === "" ? [] : [this.#delta({ content: words })];
    const calls = message.content.filter((part) => part.type === "toolCall");
    for (const [index, call] of calls.entries())
      pieces.push(this.#delta({ tool_calls: [{ index, ...callFields(call) }] }));
    pieces.push(this.#delta({}, finishReason(message)));
    if (this.#wantsUsage && message.usage) pieces.push(this.#usage(message.usage));
    pieces.push(sseBytes({ data: "[DONE]" }));
    return Buffer.concat(pieces);
  }

  #delta(delta: Record<string, unknown>, finish: string | null = null): Buffer {
    const first = this.#hasBegun ? {} : { role: "assistant" };
    this.#hasBegun = true;
    const choice = { index: 0, delta: { ...first, ...delta }, logprobs: null, finish_reason: finish };
    return sseBytes({ data: JSON.stringify({ ...this.#chunkHead, choices: [choice] }) });
  }

  #usage(usage: Usage): Buffer {
    return sseBytes({
      data: JSON.stringify({ ...this.#chunkHead, choices: [], usage: usageFields(usage) }),
    });
  }
}
