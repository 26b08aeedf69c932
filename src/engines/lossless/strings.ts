/** The index of rare strings: what the agent and the user wrote themselves, by how likely it is written again. */
import { specificStrings } from "../../compaction/identifiers.ts";
import { textOf } from "../../compaction/message-text.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import type { StringUse } from "./epoch.ts";

/** Strings that are carried; several times what a head shows. */
const MOST_STRINGS = 2_500;
/** Messages after which the newest use of a string counts half. */
const HALF_LIFE = 150;
/** Worth of a string that only results have shown, against one that was written. */
const SHOWN_WEIGHT = 0.8;

function argumentsIn(value: unknown, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (Array.isArray(value)) for (const item of value) argumentsIn(item, into);
  else if (typeof value === "object" && value !== null)
    for (const item of Object.values(value)) argumentsIn(item, into);
}

function saidIn(message: AgentMessage): string {
  if (message.role !== "assistant") return textOf(message);
  const parts = [textOf(message)];
  for (const part of message.content) if (part.type === "toolCall") argumentsIn(part.arguments, parts);
  return parts.join("\n");
}

/** Names of keys keep their colon where they are written with it: so they are written again. */
function withKeys(text: string): string[] {
  return specificStrings(text).map((value) => (text.includes(`${value}: `) ? `${value}:` : value));
}

function worth(use: StringUse, now: number): number {
  const recency = 0.5 ** ((now - use.last) / HALF_LIFE);
  return use.said === 0 ? SHOWN_WEIGHT * recency : Math.log2(1 + use.said) + 2 * recency;
}

function ranked(uses: Iterable<StringUse>, score: (use: StringUse) => number): StringUse[] {
  const scored = [...uses].map((use) => ({ use, score: score(use) }));
  scored.sort((a, b) => b.score - a.score || b.use.last - a.use.last || (a.use.value < b.use.value ? -1 : 1));
  return scored.map(({ use }) => use);
}

/** The uses after `messages` have left too. */
export function gatherStrings(
  before: readonly StringUse[],
  messages: readonly AgentMessage[],
  left: number,
): StringUse[] {
  const uses = new Map(before.map((use) => [use.value, use]));
  for (const [index, message] of messages.entries()) {
    const said = message.role === "toolResult" ? 0 : 1;
    for (const value of new Set(withKeys(saidIn(message)))) {
      const known = uses.get(value);
      // What results show counts only until somebody writes it, and not by how often.
      if (said === 0 && known && known.said > 0) continue;
      uses.set(value, { value, said: (known?.said ?? 0) + said, last: left + index });
    }
  }
  const now = left + messages.length;
  return ranked(uses.values(), (use) => worth(use, now)).slice(0, MOST_STRINGS);
}

/** As many of the strings as fit, most worth a token first; what the head shows already is not said twice. */
export function chooseStrings(
  uses: readonly StringUse[],
  now: number,
  shown: string,
  budget: number,
): string[] {
  const cost = new Map(uses.map((use) => [use, estimateTokens(`, ${use.value}`)]));
  const chosen: string[] = [];
  let words = shown;
  let left = budget;
  for (const use of ranked(uses, (item) => worth(item, now) / Math.sqrt(cost.get(item) ?? 1))) {
    const tokens = cost.get(use) ?? 1;
    if (tokens > left || words.includes(use.value)) continue;
    left -= tokens;
    chosen.push(use.value);
    words += `\n${use.value}`;
  }
  return chosen;
}
