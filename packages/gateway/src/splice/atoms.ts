/**
 * Splits messages into atoms, the smallest parts that both sides share: a harness and the transcript divide the same content into
 * messages in different ways, but a call, a result and a text stay the same.
 */
import { isDeepStrictEqual } from "node:util";
import type { AgentMessage } from "@pagurus/contract/message";

/** One part of a message: `key` identifies it, `value` is compared if the key alone is not unique. */
export interface Atom {
  key: string;
  value?: unknown;
}

/** The atoms of a message in order. Thinking has none: signed thinking is never compared, only kept. */
export function atomsOf(message: AgentMessage): Atom[] {
  if (message.role === "toolResult")
    return [{ key: resultKey(message.toolCallId), value: resultValue(message.content) }];
  const { role, content } = message;
  if (typeof content === "string") return content === "" ? [] : [{ key: `${role}:${content}` }];
  return content.flatMap((part): Atom[] => {
    if (part.type === "text") return part.text === "" ? [] : [{ key: `${role}:${part.text}` }];
    if (part.type === "image") return [{ key: imageKey(part.data) }];
    if (part.type === "toolCall")
      return [{ key: callKey(part.id), value: { name: part.name, arguments: part.arguments } }];
    return [];
  });
}

export function callKey(id: string): string {
  return `call:${id}`;
}

function resultKey(id: string): string {
  return `result:${id}`;
}

function imageKey(data: string): string {
  return `image:${data}`;
}

function resultValue(content: readonly { type: string; text?: string; data?: string }[]): string {
  return content
    .map((part) => (part.type === "text" ? (part.text ?? "") : imageKey(part.data ?? "")))
    .join("\n");
}

/** Whether two atoms with the same key have the same content. */
export function sameValue(one: Atom, other: Atom): boolean {
  return one.value === other.value || isDeepStrictEqual(one.value, other.value);
}
