/** Index of rare strings that the agent and the user wrote, ranked by how likely they are used again. */
import { namesIn } from "@pagurus/core/compaction/summary/specific-strings";
import { textOf } from "@pagurus/core/compaction/message-text";
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";
import { SearchableText } from "@pagurus/core/data/searchable-text";
import type { Pace } from "@pagurus/core/platform/pace";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { StringUse } from "../epoch.ts";

/** Limit on carried strings; several times as many as a head shows. */
const MOST_STRINGS = 2_500;
/** Half-lives of a string's value, in messages: written once, written often, only shown. */
const ONCE_HALF = 60;
const OFTEN_HALF = 300;
const SHOWN_HALF = 80;
/** Value that a frequently written string never loses, and the value of a fresh one. */
const LASTING = 0.3;
const FRESH = 1.5;
/** Strings that may fail to fit before the selection stops: later ones have little value. */
const MOST_MISSES = 60;

function argumentsIn(value: unknown, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (typeof value === "number") into.push(String(value));
  else if (Array.isArray(value)) for (const item of value) argumentsIn(item, into);
  else if (typeof value === "object" && value !== null)
    for (const item of Object.values(value)) argumentsIn(item, into);
}

/** Exact strings of data attached to a user's message. */
function attachedIn(message: AgentMessage): string[] {
  if (message.role !== "user") return [];
  return inputWords(message).data.flatMap(({ text }) => namesIn(text, false));
}

/** Exact strings of a message; plain field names only when the agent wrote them in a call. */
function stringsIn(message: AgentMessage): Set<string> {
  const text = message.role === "user" ? inputWords(message).words : textOf(message);
  const strings = new Set(namesIn(text, false));
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

/** Updates the uses with removed messages. */
export async function gatherStrings(
  before: readonly StringUse[],
  messages: readonly AgentMessage[],
  left: number,
  pace: Pace,
): Promise<StringUse[]> {
  const uses = new Map(before.map((use) => [use.value, use]));
  await pace.each(messages, (message, index) => {
    const note = (value: string, written: 0 | 1): void => {
      const known = uses.get(value);
      // Strings in results and attachments count only until they are written, and not by frequency.
      if (written === 0 && known && known.said > 0) return;
      uses.set(value, { value, said: (known?.said ?? 0) + written, last: left + index });
    };
    for (const value of stringsIn(message)) note(value, message.role === "toolResult" ? 0 : 1);
    for (const value of attachedIn(message)) note(value, 0);
  });
  const now = left + messages.length;
  return ranked(uses.values(), (use) => worth(use, now)).slice(0, MOST_STRINGS);
}

/** Addresses, paths, and codes of letters and digits, for example `https://example.org/a`, `example.org`, `ann@example.org`, `notes/a.md`, `AB-1234x`. */
const NAME_OF_TALK =
  /:\/\/|@|_|\/.*\.\w+$|^[/~.]|^(?=.*\d)(?=.*\p{L}).{6,}$|^[a-z\d-]+(?:\.[a-z\d-]+)*\.[a-z]{2,}$/u;
/** What people write of times, sizes and years: `10:30am`, `20th-century`, `100km/h`, `70s-style`. */
const FIGURE = /^\d[\d:.,/-]*(?:\p{Ll}{1,4}(?:\/\p{Ll}{1,3})?)?(?:-\p{Ll}+)*$/u;

/** The strings of a conversation in which people only talk: words that they join with a sign are none (`and/or`, `done.Then`, `iPhone`). */
export function stringsOfTalk(uses: readonly StringUse[]): readonly StringUse[] {
  return uses.filter(({ value }) => NAME_OF_TALK.test(value) && !FIGURE.test(value));
}

/**
 * As many of the strings as fit, by value per token. Strings that the head shows already are skipped, and so is a string
 * that another chosen one contains.
 */
export async function chooseStrings(
  uses: readonly StringUse[],
  { now, shown, budget }: { now: number; shown: string; budget: number },
  pace: Pace,
): Promise<string[]> {
  const cost = new Map(uses.map(({ value }) => [value, estimateTokens(` ${value}`)]));
  const costOf = (value: string): number => cost.get(value) ?? 1;
  const before = new SearchableText(shown);
  let chosen: string[] = [];
  let left = budget;
  let misses = 0;
  for (const { value } of ranked(uses, (use) => worth(use, now) / Math.sqrt(costOf(use.value)))) {
    if (misses >= MOST_MISSES || left <= 0) break;
    if (pace.due) await pace.rest();
    if (chosen.some((other) => other.includes(value)) || before.includes(value)) continue;
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
