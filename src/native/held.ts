/**
 * Tracks how much of the assembled context a native thread holds, for every runtime that authors threads. Within an epoch a
 * thread only grows, so a count and a hash decide whether it can continue. Source: the design, "Codex", seam `thread`.
 */
import { hash } from "node:crypto";
import type { AgentMessage } from "../contract/message.ts";

export function hashOf(text: string): string {
  return hash("sha256", text);
}

/** Identity of a message in a thread: its text and calls, not how the host stores it. A result is keyed by its call. */
function keyOf(message: AgentMessage): string {
  if (message.role === "toolResult") return `result ${message.toolCallId}`;
  if (typeof message.content === "string") return `${message.role} ${message.content.trim()}`;
  const parts: string[] = [];
  for (const part of message.content) {
    if (part.type === "text") parts.push(part.text);
    else if (part.type === "toolCall") parts.push(`call ${part.id}`);
    else if (part.type === "image") parts.push(`image ${hashOf(part.data)}`);
  }
  return `${message.role} ${parts.join("\n").trim()}`;
}

/** Number of messages of the assembled context in a thread, and their hash in order, which later ones extend. */
export interface Held {
  count: number;
  hash: string;
}

export const NOTHING_HELD: Held = { count: 0, hash: "" };

export function extended({ count, hash: known }: Held, messages: readonly AgentMessage[]): Held {
  return {
    count: count + messages.length,
    // The hash before has a fixed length, so the two parts cannot be split in another way.
    hash: messages.reduce((before, message) => hashOf(`${before}\n${keyOf(message)}`), known),
  };
}
