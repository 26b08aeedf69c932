/** Events of the Messages API, as bytes. */
import type { StopReason, Usage } from "@pagurus/contract/message";
import { usageFields } from "@pagurus/core/protocols/messages/messages-usage";
import { sseBytes } from "@pagurus/core/protocols/sse";

export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "not_found_error"
  | "request_too_large"
  | "overloaded_error"
  | "billing_error"
  | "api_error";

const STOPS: Partial<Record<StopReason, string>> = {
  stop: "end_turn",
  toolUse: "tool_use",
  length: "max_tokens",
};

export function eventBytes(type: string, fields: object = {}): Buffer {
  return sseBytes({ event: type, data: JSON.stringify({ type, ...fields }) });
}

export function errorBody(type: ErrorType, message: string): object {
  return { type: "error", error: { type, message } };
}

export function stopReason(reason: StopReason | undefined): string {
  return STOPS[reason ?? "stop"] ?? "end_turn";
}

export interface Envelope {
  id: string;
  model: string;
  usage: Usage;
}

/** The fields of a message, as in its first event or as a whole. */
export function messageFields(
  { id, model, usage }: Envelope,
  content: readonly object[],
  stop: string | null,
) {
  return {
    id,
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: usageFields(usage),
  };
}

/** Start, deltas and stop of a block that is sent at once. */
export function blockEvents(index: number, empty: object, deltas: readonly object[]): Buffer[] {
  return [
    eventBytes("content_block_start", { index, content_block: empty }),
    ...deltas.map((delta) => eventBytes("content_block_delta", { index, delta })),
    eventBytes("content_block_stop", { index }),
  ];
}

export function endEvents(stop: string, usage: Usage): Buffer[] {
  const delta = { stop_reason: stop, stop_sequence: null };
  return [eventBytes("message_delta", { delta, usage: usageFields(usage) }), eventBytes("message_stop")];
}
