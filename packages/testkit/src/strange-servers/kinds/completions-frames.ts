/** Pieces of the strange answers of the Chat Completions API. */
import type { Frame } from "../../endpoint/script.ts";
import { type Json } from "../strange-answer.ts";

export const P = "openai-completions";
const HEAD = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m" };
export const DONE_FRAME: Frame = { data: "[DONE]" };

export function chunk(delta: unknown, more: Json = {}, top: Json = {}): Frame {
  return {
    data: JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason: null, ...more }], ...top }),
  };
}

export function ended(frames: readonly Frame[], finish_reason: unknown = "stop"): Frame[] {
  return [...frames, chunk({}, { finish_reason }), DONE_FRAME];
}

export function reply(...deltas: unknown[]): Frame[] {
  return ended(deltas.map((delta) => chunk(delta)));
}

export function called(...pieces: Json[]): Frame[] {
  return ended(
    pieces.map((piece) => chunk({ tool_calls: [piece] })),
    "tool_calls",
  );
}

export const A = '{"k":"a"}';
export const B = '{"k":"b"}';
export const fn = (name: unknown, args: unknown): Json => ({
  type: "function",
  function: { name, arguments: args },
});
export const args = (text: unknown): Json => ({ function: { arguments: text } });
