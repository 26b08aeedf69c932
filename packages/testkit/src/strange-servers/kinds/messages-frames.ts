/** Pieces of the strange answers of the Messages API. */
import type { Frame, ReplyStep } from "../../endpoint/script.ts";
import { edited, plainFrames, type Json } from "../strange-answer.ts";

export const P = "anthropic-messages";

function event(type: string, fields: Json): Frame {
  return { event: type, data: JSON.stringify({ type, ...fields }) };
}

export const start = (index: unknown, block: unknown): Frame =>
  event("content_block_start", { index, content_block: block });
export const delta = (index: unknown, value: unknown): Frame =>
  event("content_block_delta", { index, delta: value });
export const stopBlock = (index: unknown): Frame => event("content_block_stop", { index });
export const json = (index: unknown, text: unknown): Frame =>
  delta(index, { type: "input_json_delta", partial_json: text });
export const word = (index: unknown, text: string): Frame => delta(index, { type: "text_delta", text });

const [HEAD, ...REST] = plainFrames(P, { text: "" });
const BEGIN = HEAD ? [HEAD] : [];
const ENDS = REST.slice(-2);

/** Blocks between the usual beginning and the usual end. */
export function around(frames: readonly Frame[], reason = "end_turn"): Frame[] {
  const ends = edited(ENDS, (object) =>
    object["type"] === "message_delta" ? { ...object, delta: { stop_reason: reason } } : object,
  );
  return [...BEGIN, ...frames, ...ends];
}

export const CALL = { type: "tool_use", id: "call_a", name: "probe", input: {} };
export const OTHER = { ...CALL, id: "call_b" };
export const ARGS_A = '{"k":"a"}';
export const ARGS_B = '{"k":"b"}';
export const calls = (...names: [string, Json][]) => ({ text: "", calls: names });

export function without(step: ReplyStep, ...types: string[]): Frame[] {
  return plainFrames(P, step).filter(({ event: name }) => !types.includes(name ?? ""));
}
