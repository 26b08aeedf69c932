/** Messages as text, for the seam `projection`: the same message is the same bytes. */
import type { AgentMessage } from "../contract/message.ts";

/** Values of an object in the order of their names: what engines put in first must not be told by the bytes. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([name, item]) => [name, canonical(item)]));
}

/** Calls with their arguments; images are named only. */
export function textOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  const parts: string[] = [];
  for (const part of message.content) {
    if (part.type === "text") parts.push(part.text);
    else if (part.type === "image") parts.push("[image]");
    else if (part.type === "toolCall")
      parts.push(`[tool call ${part.id}: ${part.name} ${JSON.stringify(canonical(part.arguments))}]`);
  }
  return parts.join("\n");
}
