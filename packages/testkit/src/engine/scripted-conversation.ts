/** Scripted turns: every message has a unique text, so that a check can find each in a context. */
import type { AgentMessage } from "@pagurus/contract/message";
import { canonicalJson } from "@pagurus/core/data/canonical-json";

/** Messages of a turn, the user's input first. */
export type Turn = readonly AgentMessage[];

const FILLER =
  "The harbour office keeps a list of ships, cargoes and berths, and corrects it by hand in the evening. ";

function numberWord(index: number): string {
  return String(index).padStart(4, "0");
}

/** About `tokens` tokens of plain English. */
export function filler(tokens: number): string {
  return FILLER.repeat(Math.max(1, Math.round(tokens / 20))).trim();
}

export function input(index: number, tokens = 60): AgentMessage {
  return {
    role: "user",
    content: `Request ${numberWord(index)}: look after berth B${index}. ${filler(tokens)}`,
  };
}

export function answer(index: number, tokens = 60): AgentMessage {
  const text = `Answer ${numberWord(index)}: berth B${index} is looked after. ${filler(tokens)}`;
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
}

/** One round: a model's calls and their results. Ids are unique for the turn and round. */
export function round(index: number, step: number, calls = 1, tokens = 60): AgentMessage[] {
  const ids = Array.from({ length: calls }, (_, call) => `call_${index}_${step}_${call}`);
  return [
    {
      role: "assistant",
      content: [
        { type: "text", text: `Step ${numberWord(index)}-${step}: reading.` },
        ...ids.map((id) => ({
          type: "toolCall" as const,
          id,
          name: "read_file",
          arguments: { path: `/berths/${id}.txt` },
        })),
      ],
      stopReason: "toolUse",
    },
    ...ids.map((id): AgentMessage => ({
      role: "toolResult",
      toolCallId: id,
      toolName: "read_file",
      content: [{ type: "text", text: `Contents of ${id}: ${filler(tokens)}` }],
      isError: false,
    })),
  ];
}

/** A turn with one tool call. */
export function turn(index: number, tokens = 60): Turn {
  return [input(index, tokens), ...round(index, 0, 1, tokens), answer(index, tokens)];
}

export function turns(count: number, tokens = 60): Turn[] {
  return Array.from({ length: count }, (_, index) => turn(index, tokens));
}

/**
 * Content key of a message; messages with the same key are the same to a model: words, images, reasoning, calls with name and arguments,
 * results with their call and whether they failed.
 */
export function keyOf(message: AgentMessage): string {
  if (typeof message.content === "string") return `${message.role}|${message.content}`;
  const parts = message.content.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "toolCall") return `call:${part.id}:${part.name}:${canonicalJson(part.arguments)}`;
    if (part.type === "image") return `image:${part.mimeType}:${part.data}`;
    return `thinking:${part.thinking}`;
  });
  const isError = message.role === "toolResult" && message.isError;
  const of =
    message.role === "toolResult"
      ? `:${message.toolCallId}:${message.toolName}${isError ? ":failed" : ""}`
      : "";
  return `${message.role}${of}|${parts.join("|")}`;
}
