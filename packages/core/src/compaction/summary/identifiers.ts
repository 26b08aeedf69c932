/** Exact strings of a span (paths, ids, symbols) that later work may need, ranked without a model. */
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";
import { estimateTokens } from "../../tokens/estimate.ts";
import { textOf } from "../message-text.ts";
import type { Pace } from "../../platform/pace.ts";
import { specificStrings } from "./specific-strings.ts";

interface Seen {
  /** Messages in which the agent or the user wrote it, and messages that only show it. */
  written: number;
  shown: number;
  /** Index of the last message that contains it. */
  last: number;
  lastWritten: number;
}

function stringsIn(value: unknown, into: string[]): string[] {
  if (typeof value === "string") into.push(value);
  else if (Array.isArray(value)) for (const item of value) stringsIn(item, into);
  else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) stringsIn(item, into);
  }
  return into;
}

/** Text of a message that the agent or the user wrote, and arguments of calls. Empty for a result. */
function writtenIn(message: AgentMessage): string {
  if (message.role === "toolResult") return "";
  if (message.role === "user") return inputWords(message).words;
  const parts = [textOf(message)];
  for (const part of message.content) if (part.type === "toolCall") stringsIn(part.arguments, parts);
  return parts.join("\n");
}

/** Text of a message that neither of them wrote: a result, attached data. */
function shownIn(message: AgentMessage): string {
  if (message.role === "toolResult") return textOf(message);
  if (message.role !== "user") return "";
  return inputWords(message)
    .data.map(({ text }) => text)
    .join("\n");
}

interface Scored {
  value: string;
  score: number;
  last: number;
  /** Written by the agent or the user, not only shown by results. */
  written: boolean;
}

function better(a: Scored, b: Scored): number {
  return b.score - a.score || b.last - a.last || (a.value < b.value ? -1 : 1);
}

/** Keeps the best entries without sorting all of them. */
class Best {
  #kept: Scored[] = [];
  #least = -Infinity;

  add(item: Scored): void {
    if (item.score < this.#least) return;
    this.#kept.push(item);
    if (this.#kept.length < 4 * MOST_RANKED) return;
    this.#kept = this.ranked();
    this.#least = this.#kept.at(-1)?.score ?? -Infinity;
  }

  ranked(): Scored[] {
    return this.#kept.toSorted(better).slice(0, MOST_RANKED);
  }
}

function scoreOf(entry: Seen, messages: number): number {
  const use = entry.written === 0 ? 0 : 2 + Math.log2(1 + Math.min(entry.written, 8));
  const recency = (2 * (1 + (entry.written === 0 ? entry.last : entry.lastWritten))) / messages;
  // Strings that nearly every result repeats (a prefix of all paths, a tool's banner) carry no information.
  const common = (3 * entry.shown) / messages;
  return use + recency - common;
}

/** Limit on ranked strings; no summary fits more. */
const MOST_RANKED = 600;
/** The newest user messages count as the open requests; limits on these messages and on their strings. */
const ASKS = 3;
const MOST_ASKED = 20;
const MOST_REQUIRED = 60;

/** The exact strings of a span. */
export interface SpanStrings {
  /**
   * The most useful ones, best first: those that the agent or the user wrote before those that only results show,
   * newer before older, rare before frequent. At most 600.
   */
  ranked: { value: string; written: boolean }[];
  /** Those of the newest requests, newest request first. */
  asked: string[];
}

export const NO_STRINGS: SpanStrings = { ranked: [], asked: [] };

/** Collects and ranks the strings of a span, in slices. */
export async function surveyStrings(messages: readonly AgentMessage[], pace: Pace): Promise<SpanStrings> {
  const seen = new Map<string, Seen>();
  await pace.each(messages, (message, index) => {
    const written = new Set(specificStrings(writtenIn(message)));
    for (const value of new Set([...written, ...specificStrings(shownIn(message))])) {
      let entry = seen.get(value);
      if (!entry) seen.set(value, (entry = { written: 0, shown: 0, last: index, lastWritten: -1 }));
      if (written.has(value)) {
        entry.written += 1;
        entry.lastWritten = index;
      } else entry.shown += 1;
      entry.last = index;
    }
  });
  const best = new Best();
  const count = Math.max(1, messages.length);
  await pace.each(seen, ([value, entry]) => {
    best.add({ value, last: entry.last, written: entry.written > 0, score: scoreOf(entry, count) });
  });
  const ranked = best.ranked().map(({ value, written }) => ({ value, written }));
  return { ranked, asked: newestAsked(messages) };
}

function newestAsked(messages: readonly AgentMessage[]): string[] {
  const asks: string[] = [];
  for (let index = messages.length - 1; index >= 0 && asks.length < ASKS; index -= 1) {
    const message = messages[index];
    const text = message?.role === "user" ? inputWords(message).words : "";
    if (text.trim() !== "") asks.push(text);
  }
  return [...new Set(asks.flatMap(specificStrings))].slice(0, MOST_ASKED);
}

/**
 * Exact strings that a summary has to keep, best first, within `budget` tokens: those of the newest requests, then
 * the best ones that the agent or the user wrote.
 */
export function requiredIdentifiers({ ranked, asked }: SpanStrings, budget: number): string[] {
  const best = ranked.slice(0, MOST_REQUIRED).filter(({ written }) => written);
  const required: string[] = [];
  let left = budget;
  for (const value of new Set([...asked, ...best.map((item) => item.value)])) {
    const cost = estimateTokens(`, ${value}`);
    if (cost > left) continue;
    left -= cost;
    required.push(value);
  }
  return required;
}
