/**
 * What a native thread holds of the assembled context, for every runtime that authors one: within an epoch a thread only
 * grows, so a count and a hash tell whether it can go on. Source: the design, "Codex", seam `thread`.
 */
import { hash } from "node:crypto";
import type { AgentMessage } from "../contract/message.ts";

export function hashOf(text: string): string {
  return hash("sha256", text);
}

/** What a message is, for a thread: its words and calls, not how the host keeps it. A result is its call's. */
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

/** How many messages a thread holds of the assembled context, and their hash in order, which later ones extend. */
export interface Held {
  count: number;
  hash: string;
}

export const NOTHING_HELD: Held = { count: 0, hash: "" };

export function extended({ count, hash: known }: Held, messages: readonly AgentMessage[]): Held {
  return {
    count: count + messages.length,
    // What stands before is of one length, so that the two cannot be taken apart in another way.
    hash: messages.reduce((before, message) => hashOf(`${before}\n${keyOf(message)}`), known),
  };
}
