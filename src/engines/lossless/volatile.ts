/**
 * Live messages that no entry holds, matched with those that entries hold: by what they say, each occurrence once.
 * A tool's name may be lost on the way: null, empty and `unknown` match every name.
 */
import type { AgentMessage } from "../../contract/message.ts";

function isUnnamed(name: unknown): boolean {
  return name === null || name === undefined || name === "" || name === "unknown";
}

/** What makes two messages the same but for the names of tools. */
function signature(message: AgentMessage): string {
  if (message.role === "user") {
    const { content } = message;
    return JSON.stringify([
      "user",
      typeof content === "string" ? [{ type: "text", text: content }] : content,
    ]);
  }
  if (message.role === "toolResult")
    return JSON.stringify(["toolResult", message.toolCallId, message.isError, message.content]);
  const content = message.content.map((part) => (part.type === "toolCall" ? { ...part, name: "" } : part));
  return JSON.stringify(["assistant", content]);
}

function names(message: AgentMessage): unknown[] {
  if (message.role === "toolResult") return [message.toolName];
  if (message.role !== "assistant") return [];
  return message.content.flatMap((part) => (part.type === "toolCall" ? [part.name] : []));
}

function sameNames(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.every((name, index) => {
    const against = other[index];
    return isUnnamed(name) || isUnnamed(against) || name === against;
  });
}

/** Finds a place for `from` on the other side, moving earlier matches where that helps. */
function augment(
  from: number,
  edges: readonly (readonly number[])[],
  taken: Map<number, number>,
  seen: Set<number>,
): boolean {
  for (const to of edges[from] ?? []) {
    if (seen.has(to)) continue;
    seen.add(to);
    const holder = taken.get(to);
    if (holder !== undefined && !augment(holder, edges, taken, seen)) continue;
    taken.set(to, from);
    return true;
  }
  return false;
}

/**
 * The messages of `given` that no message of `held` stands for: a maximum matching, so that as many as possible are
 * recognized, and each of `held` stands for one at most.
 */
export function unmatched(given: readonly AgentMessage[], held: readonly AgentMessage[]): AgentMessage[] {
  if (given.length === 0 || held.length === 0) return [...given];
  const groups = new Map<string, number[]>();
  for (const [index, message] of held.entries()) {
    const key = signature(message);
    groups.set(key, [...(groups.get(key) ?? []), index]);
  }
  const heldNames = held.map(names);
  const edges = given.map((message) => {
    const own = names(message);
    return (groups.get(signature(message)) ?? []).filter((index) => sameNames(own, heldNames[index] ?? []));
  });
  const taken = new Map<number, number>();
  for (const from of given.keys()) augment(from, edges, taken, new Set());
  const matched = new Set(taken.values());
  return given.filter((_, index) => !matched.has(index));
}
