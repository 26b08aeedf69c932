/** Exact strings of a span (paths, ids, symbols) that the work may need again. Made without a model. */
import type { AgentMessage } from "../contract/message.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { textOf } from "./message-text.ts";

/** A leading slash, `./`, `../` or `~/` belongs to the path. */
const CANDIDATE = /(?:~\/|\.{0,2}\/)?[A-Za-z0-9_][A-Za-z0-9_./:-]{5,}/g;
const LONGEST = 120;

/** The specific strings of a text: with a digit, `_ . / :` or camel case, of 6 to 120 characters. */
export function specificStrings(text: string): string[] {
  const found: string[] = [];
  for (const [match] of text.matchAll(CANDIDATE)) {
    const value = match.replace(/[./:-]+$/, "");
    if (value.length < 6 || value.length > LONGEST) continue;
    if (/[0-9_./:]/.test(value) || /[a-z][A-Z]/.test(value)) found.push(value);
  }
  return found;
}

interface Seen {
  /** Uses by the agent or the user, and in results. */
  said: number;
  shown: number;
  /** Index of the last message that holds it. */
  last: number;
  lastSaid: number;
}

function stringsIn(value: unknown, into: string[]): string[] {
  if (typeof value === "string") into.push(value);
  else if (Array.isArray(value)) for (const item of value) stringsIn(item, into);
  else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) stringsIn(item, into);
  }
  return into;
}

/** What the agent or the user wrote in a message: words and arguments of calls. */
function saidIn(message: AgentMessage): string {
  if (message.role !== "assistant") return textOf(message);
  const parts = [textOf(message)];
  for (const part of message.content) if (part.type === "toolCall") stringsIn(part.arguments, parts);
  return parts.join("\n");
}

/**
 * The most useful specific strings, best first: those the agent or the user wrote themselves before those that
 * only results show, newer before older, rare before frequent. At most `limit`.
 */
export function identifiers(messages: readonly AgentMessage[], limit: number): string[] {
  const seen = new Map<string, Seen>();
  for (const [index, message] of messages.entries()) {
    const said = message.role !== "toolResult";
    for (const value of new Set(specificStrings(saidIn(message)))) {
      const entry = seen.get(value) ?? { said: 0, shown: 0, last: index, lastSaid: -1 };
      if (said) {
        entry.said += 1;
        entry.lastSaid = index;
      } else entry.shown += 1;
      entry.last = index;
      seen.set(value, entry);
    }
  }
  const count = Math.max(1, messages.length);
  const scored = [...seen].map(([value, entry]) => {
    const use = entry.said === 0 ? 0 : 2 + Math.log2(1 + Math.min(entry.said, 8));
    const recency = (2 * (1 + (entry.said === 0 ? entry.last : entry.lastSaid))) / count;
    // What nearly every result repeats (a prefix of all paths, a tool's banner) tells nothing.
    const common = (3 * entry.shown) / count;
    return { value, last: entry.last, score: use + recency - common };
  });
  scored.sort((a, b) => b.score - a.score || b.last - a.last || (a.value < b.value ? -1 : 1));
  return scored.slice(0, limit).map((entry) => entry.value);
}

/** Newest messages of users whose exact strings are those of the open asks, and how many of them count. */
const ASKS = 3;
const MOST_ASKED = 20;
const MOST_REQUIRED = 60;

/**
 * The exact strings that a summary has to keep, best first, within `budget` tokens: those of the newest requests,
 * then the best of the span that the agent or the user wrote themselves.
 */
export function requiredIdentifiers(messages: readonly AgentMessage[], budget: number): string[] {
  const asks = messages.filter((message) => message.role === "user" && textOf(message).trim() !== "");
  const asked = new Set(
    asks
      .slice(-ASKS)
      .toReversed()
      .flatMap((ask) => specificStrings(textOf(ask))),
  );
  const said = new Set(
    messages.flatMap((message) => (message.role === "toolResult" ? [] : specificStrings(saidIn(message)))),
  );
  const best = identifiers(messages, MOST_REQUIRED).filter((value) => said.has(value));
  const required: string[] = [];
  let left = budget;
  for (const value of new Set([...[...asked].slice(0, MOST_ASKED), ...best])) {
    const cost = estimateTokens(`, ${value}`);
    if (cost > left) continue;
    left -= cost;
    required.push(value);
  }
  return required;
}
