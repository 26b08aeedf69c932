/** The index of rare strings: what the agent and the user wrote themselves, by how likely it is written again. */
import { namesIn } from "../../compaction/identifiers.ts";
import { textOf } from "../../compaction/message-text.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { Pace } from "../../platform/pace.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import type { StringUse } from "./epoch.ts";

/** Strings that are carried; several times what a head shows. */
const MOST_STRINGS = 2_500;
/** Messages after which the worth of being written once, of being written often, and of being shown is half. */
const ONCE_HALF = 60;
const OFTEN_HALF = 300;
const SHOWN_HALF = 80;
/** Worth that a string which was written often never loses, against a fresh one. */
const LASTING = 0.3;
const FRESH = 1.5;
/** Strings that did not fit before the choice ends: what fits then is worth little. */
const MOST_MISSES = 60;

function argumentsIn(value: unknown, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (typeof value === "number") into.push(String(value));
  else if (Array.isArray(value)) for (const item of value) argumentsIn(item, into);
  else if (typeof value === "object" && value !== null)
    for (const item of Object.values(value)) argumentsIn(item, into);
}

/** Exact strings of a message; plain names of fields only where the agent wrote them into a call. */
function stringsIn(message: AgentMessage): Set<string> {
  const strings = new Set(namesIn(textOf(message), false));
  if (message.role !== "assistant") return strings;
  const written: string[] = [];
  for (const part of message.content) if (part.type === "toolCall") argumentsIn(part.arguments, written);
  for (const value of namesIn(written.join("\n"), true)) strings.add(value);
  return strings;
}

function worth(use: StringUse, now: number): number {
  const half = (messages: number): number => 0.5 ** ((now - use.last) / messages);
  if (use.said === 0) return half(SHOWN_HALF);
  return Math.log2(1 + use.said) * (LASTING + half(OFTEN_HALF)) + FRESH * half(ONCE_HALF);
}

function ranked(uses: Iterable<StringUse>, score: (use: StringUse) => number): StringUse[] {
  const scored = [...uses].map((use) => ({ use, score: score(use) }));
  scored.sort((a, b) => b.score - a.score || b.use.last - a.use.last || (a.use.value < b.use.value ? -1 : 1));
  return scored.map(({ use }) => use);
}

/** The uses after `messages` have left too. */
export async function gatherStrings(
  before: readonly StringUse[],
  messages: readonly AgentMessage[],
  left: number,
  pace: Pace,
): Promise<StringUse[]> {
  const uses = new Map(before.map((use) => [use.value, use]));
  await pace.each(messages, (message, index) => {
    const said = message.role === "toolResult" ? 0 : 1;
    for (const value of stringsIn(message)) {
      const known = uses.get(value);
      // What results show counts only until somebody writes it, and not by how often.
      if (said === 0 && known && known.said > 0) continue;
      uses.set(value, { value, said: (known?.said ?? 0) + said, last: left + index });
    }
  });
  const now = left + messages.length;
  return ranked(uses.values(), (use) => worth(use, now)).slice(0, MOST_STRINGS);
}

/**
 * As many of the strings as fit, most worth a token first. What the head shows already is not said twice, and of two
 * strings one of which holds the other only the longer is named.
 */
export async function chooseStrings(
  uses: readonly StringUse[],
  { now, shown, budget }: { now: number; shown: string; budget: number },
  pace: Pace,
): Promise<string[]> {
  const cost = new Map(uses.map(({ value }) => [value, estimateTokens(` ${value}`)]));
  const costOf = (value: string): number => cost.get(value) ?? 1;
  let chosen: string[] = [];
  let left = budget;
  let misses = 0;
  for (const { value } of ranked(uses, (use) => worth(use, now) / Math.sqrt(costOf(use.value)))) {
    if (misses >= MOST_MISSES || left <= 0) break;
    if (pace.due) await pace.rest();
    if (chosen.some((other) => other.includes(value)) || shown.includes(value)) continue;
    const inside = chosen.filter((other) => value.includes(other));
    const tokens = inside.reduce((sum, other) => sum - costOf(other), costOf(value));
    if (tokens > left) {
      misses += 1;
      continue;
    }
    left -= tokens;
    chosen = [...chosen.filter((other) => !inside.includes(other)), value];
  }
  return chosen;
}
