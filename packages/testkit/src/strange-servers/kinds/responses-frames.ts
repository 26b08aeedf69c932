/** Pieces of the strange answers of the Responses API. */
import type { Frame } from "../../endpoint/script.ts";
import { plainFrames, REPLIES, type Json, type ReplyName } from "../strange-answer.ts";

export const P = "openai-responses";

export function event(type: string, fields: Json): Frame {
  return { event: type, data: JSON.stringify({ type, ...fields }) };
}

export const HEAD = event("response.created", {
  response: { id: "resp_0", object: "response", status: "in_progress", model: "m", output: [] },
});
export const added = (output_index: unknown, item: unknown): Frame =>
  event("response.output_item.added", { output_index, item });
export const done = (output_index: unknown, item: unknown): Frame =>
  event("response.output_item.done", { output_index, item });
export const delta = (output_index: unknown, text: unknown, more: Json = {}): Frame =>
  event("response.output_text.delta", {
    item_id: "msg_0",
    output_index,
    content_index: 0,
    delta: text,
    ...more,
  });

export function completed(output: unknown[] = [], more: Json = {}): Frame {
  const response = {
    id: "resp_0",
    object: "response",
    status: "completed",
    model: "m",
    output,
    usage: { input_tokens: 10, output_tokens: 5 },
  };
  return event("response.completed", { response: { ...response, ...more } });
}

export function message(content: unknown[], more: Json = {}): Json {
  return { type: "message", id: "msg_0", role: "assistant", status: "completed", content, ...more };
}

export const part = (text: string): Json => ({ type: "output_text", text, annotations: [] });
export const fn = (id: string, args: unknown, more: Json = {}): Json => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name: "probe",
  arguments: args,
  ...more,
});
export const A = '{"k":"a"}';
export const B = '{"k":"b"}';
export const HELLO = message([part("hello")]);

export function without(reply: ReplyName, ...types: string[]): Frame[] {
  return plainFrames(P, REPLIES[reply]).filter(
    ({ event: name }) => !types.includes((name ?? "").replace(/^response\./, "")),
  );
}

export const reasoning = (more: Json): Json => ({ type: "reasoning", id: "rs_0", summary: [], ...more });
