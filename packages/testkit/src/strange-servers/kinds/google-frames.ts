/** Pieces of the strange answers of the generateContent API. */
import type { Frame } from "../../endpoint/script.ts";
import { type Json } from "../strange-answer.ts";

export const P = "google";

export function chunk(parts: unknown, more: Json = {}, top: Json = {}): Frame {
  return {
    data: JSON.stringify({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }], ...top }),
  };
}

export function googleReply(...parts: unknown[]): Frame[] {
  return [...parts.map((part) => chunk([part])), chunk([], { finishReason: "STOP" })];
}

export const functionCall = (args: unknown, more: Json = {}): Json => ({
  functionCall: { name: "probe", args, ...more },
});
