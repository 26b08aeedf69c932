/**
 * Matches live messages without an entry with messages of entries: by content, each occurrence once. A tool's name may
 * get lost on the way: null, empty and `unknown` match every name.
 */
import type { AgentMessage } from "@pagurus/contract/message";

function isUnnamed(name: unknown): boolean {
  return name === null || name === undefined || name === "" || name === "unknown";
}

/** Signature of a message without the names of tools; equal messages have equal ones. */
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

/** A message's index in its list. */
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
 * Pairs messages of one signature whose names are all known with messages of the same names. Any other match of one is
 * also a match of the other, so no better pairing is lost. Returns the unpaired rest of both sides.
 */
function pairNamed(
  live: readonly Side[],
  held: readonly Side[],
  matched: Set<number>,
): { live: Side[]; held: Side[] } {
  const known = new Map<string, Side[]>();
  const rest: { live: Side[]; held: Side[] } = { live: [], held: [] };
  for (const side of held.toReversed()) {
    if (side.names.some(isUnnamed)) rest.held.push(side);
    else {
      const key = JSON.stringify(side.names);
      const group = known.get(key);
      if (group) group.push(side);
      else known.set(key, [side]);
    }
  }
  for (const side of live) {
    const same = side.names.some(isUnnamed) ? undefined : known.get(JSON.stringify(side.names))?.pop();
    if (same) matched.add(side.index);
    else rest.live.push(side);
  }
  return { live: rest.live, held: [...known.values()].flat().concat(rest.held) };
}

/** Finds a match for `from` on the other side: a free one first, else by moving earlier matches. */
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

/** Matches messages of one signature with lost names. */
function pairOpen(live: readonly Side[], held: readonly Side[], matched: Set<number>): void {
  const edges = live.map((one) =>
    held.flatMap((other, index) => (sameNames(one.names, other.names) ? [index] : [])),
  );
  const taken = new Map<number, number>();
  // Nodes of a failed search cannot succeed later either.
  let dead: ReadonlySet<number> = new Set();
  for (const from of live.keys()) {
    const seen = new Set(dead);
    if (!augment(from, edges, taken, seen)) dead = seen;
  }
  for (const from of taken.values()) {
    const side = live[from];
    if (side) matched.add(side.index);
  }
}

/**
 * The messages of `live` without a match in `held`. A maximum matching, so that as many as possible are recognized, and
 * each of `held` matches at most one.
 */
export function unmatched(live: readonly AgentMessage[], held: readonly AgentMessage[]): AgentMessage[] {
  if (live.length === 0 || held.length === 0) return [...live];
  const groups = sidesOf(held);
  const matched = new Set<number>();
  for (const [key, sides] of sidesOf(live)) {
    const rest = pairNamed(sides, groups.get(key) ?? [], matched);
    if (rest.live.length > 0 && rest.held.length > 0) pairOpen(rest.live, rest.held, matched);
  }
  return live.filter((_, index) => !matched.has(index));
}
