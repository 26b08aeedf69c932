/** How well a text answers a query: rare words count more, repetition and length less and less. */
import { fold, type QueryWord } from "./query.ts";
import type { EntryKind, Role } from "./types.ts";

/** A text with all words of a token but not the word as it was typed (`a.ts` in another order) counts this share. */
const LOOSE = 0.3;
const PHRASE_BONUS = 0.5;
const COUNT_LIMIT = 12;
const SNIPPET_BEFORE = 60;
const SNIPPET_LENGTH = 220;

export interface WeighedWord extends QueryWord {
  weight: number;
}

/** Weight of a word that so many of all texts have. */
export function rarity(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5)) + 0.05;
}

function occurrences(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0 && count < COUNT_LIMIT; at = text.indexOf(word, at + word.length))
    count += 1;
  return count;
}

/** Of a text that the index found; `matched` says which words it has by the index. */
export function scoreOf(text: string, words: readonly WeighedWord[]): number {
  const folded = fold(text);
  const length = 0.25 + 0.75 * Math.min(4, text.length / 2_000);
  let score = 0;
  let total = 0;
  let covered = 0;
  let found = 0;
  for (const { text: word, weight, expression } of words) {
    total += weight;
    const count = occurrences(folded, word);
    if (count > 0) {
      found += 1;
      covered += weight;
      score += (weight * count * 2.2) / (count + 1.2 * length);
    } else if (expression.includes(" AND ") && hasParts(folded, expression)) {
      covered += weight * LOOSE;
      score += weight * LOOSE;
    }
  }
  // A text with the rare word of a query comes before one that repeats the common ones.
  score *= total === 0 ? 0 : covered / total;
  if (words.length > 1 && found === words.length) {
    const phrase = words.map((word) => word.text).join(" ");
    if (folded.includes(phrase)) score += total * PHRASE_BONUS;
  }
  return score;
}

function hasParts(folded: string, expression: string): boolean {
  return expression.split(" AND ").every((part) => folded.includes(fold(part.slice(1, -1))));
}

/** The user's words say what matters, a tool's output is mostly bulk. */
export function roleWeight(kind: EntryKind | "node", role: Role | undefined): number {
  if (role === "user") return 1.5;
  if (role === "assistant") return 1.1;
  if (role === "toolResult") return 0.9;
  return kind === "node" || kind === "compaction" ? 1 : 0.7;
}

/** One line around the rarest word that is found. */
export function snippetOf(text: string, words: readonly WeighedWord[]): string {
  const folded = fold(text);
  // Folding can change lengths, so the place is near the word in the original, not always at it.
  const rarest = words
    .toSorted((a, b) => b.weight - a.weight)
    .find(({ text: word }) => folded.includes(word));
  const center = rarest ? folded.indexOf(rarest.text) : 0;
  let start = Math.max(0, center - SNIPPET_BEFORE);
  if (isLow(text, start)) start -= 1;
  let end = Math.min(text.length, start + SNIPPET_LENGTH);
  if (isLow(text, end)) end -= 1;
  const part = text.slice(start, end).replace(/\s+/g, " ").trim();
  return `${start > 0 ? "…" : ""}${part}${end < text.length ? "…" : ""}`;
}

function isLow(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code < 0xe000;
}
