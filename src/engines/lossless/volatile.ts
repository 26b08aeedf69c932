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

/** A message by its place in its list. */
interface Side {
  index: number;
  names: readonly unknown[];
}

function sidesOf(messages: readonly AgentMessage[]): Map<string, Side[]> {
  const groups = new Map<string, Side[]>();
  for (const [index, message] of messages.entries()) {
    const key = signature(message);
    const group = groups.get(key);
    const side = { index, names: names(message) };
    if (group) group.push(side);
    else groups.set(key, [side]);
  }
  return groups;
}

/**
 * Pairs those of one signature whose every name is known with one of the same names: whatever else may stand for either
 * of them may stand for the other, so no better choice is lost. Returns what is left of both sides.
 */
function pairNamed(
  given: readonly Side[],
  held: readonly Side[],
  matched: Set<number>,
): { given: Side[]; held: Side[] } {
  const known = new Map<string, Side[]>();
  const rest: { given: Side[]; held: Side[] } = { given: [], held: [] };
  for (const side of held.toReversed()) {
    if (side.names.some(isUnnamed)) rest.held.push(side);
    else {
      const key = JSON.stringify(side.names);
      const group = known.get(key);
      if (group) group.push(side);
      else known.set(key, [side]);
    }
  }
  for (const side of given) {
    const same = side.names.some(isUnnamed) ? undefined : known.get(JSON.stringify(side.names))?.pop();
    if (same) matched.add(side.index);
    else rest.given.push(side);
  }
  return { given: rest.given, held: [...known.values()].flat().concat(rest.held) };
}

/** Finds a place for `from` on the other side, a free one first, else by moving earlier matches. */
function augment(
  from: number,
  edges: readonly (readonly number[])[],
  taken: Map<number, number>,
  seen: Set<number>,
): boolean {
  const free = edges[from]?.find((to) => !taken.has(to));
  if (free !== undefined) {
    taken.set(free, from);
    return true;
  }
  for (const to of edges[from] ?? []) {
    if (seen.has(to)) continue;
    seen.add(to);
    const holder = taken.get(to);
    if (holder === undefined || !augment(holder, edges, taken, seen)) continue;
    taken.set(to, from);
    return true;
  }
  return false;
}

/** Those of one signature where names are lost. */
function pairOpen(given: readonly Side[], held: readonly Side[], matched: Set<number>): void {
  const edges = given.map((one) =>
    held.flatMap((other, index) => (sameNames(one.names, other.names) ? [index] : [])),
  );
  const taken = new Map<number, number>();
  // What a search has seen in vain leads nowhere later either.
  let dead: ReadonlySet<number> = new Set();
  for (const from of given.keys()) {
    const seen = new Set(dead);
    if (!augment(from, edges, taken, seen)) dead = seen;
  }
  for (const from of taken.values()) {
    const side = given[from];
    if (side) matched.add(side.index);
  }
}

/**
 * The messages of `given` that no message of `held` stands for: a maximum matching, so that as many as possible are
 * recognized, and each of `held` stands for one at most.
 */
export function unmatched(given: readonly AgentMessage[], held: readonly AgentMessage[]): AgentMessage[] {
  if (given.length === 0 || held.length === 0) return [...given];
  const groups = sidesOf(held);
  const matched = new Set<number>();
  for (const [key, sides] of sidesOf(given)) {
    const rest = pairNamed(sides, groups.get(key) ?? [], matched);
    if (rest.given.length > 0 && rest.held.length > 0) pairOpen(rest.given, rest.held, matched);
  }
  return given.filter((_, index) => !matched.has(index));
}
