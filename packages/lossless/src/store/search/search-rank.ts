/** Ranks texts for a query: words near each other count, rare ones more; repetition and length do not. */
import { fold } from "./fold.ts";
import type { QueryWord } from "./query.ts";
import { isUnspaced } from "./scripts.ts";
import type { EntryKind, Role } from "../store-types.ts";

/** Distance within which words count together. Characters. */
const NEAR = 300;
/** Share of the best such range in a score; the rest is for the whole window. */
const NEAR_SHARE = 0.6;
/** Size of a window: hits within this distance of its first one. Characters. */
const RANK_WINDOW = 900;
/** Limit on the windows of one text. */
const WINDOWS = 6;
/** Windows below this share of the text's best one are dropped. */
const LEAST_SHARE = 0.1;
/** Limit on the hits of one word in one text. */
const HITS = 40;
/** Limit on the letters of a word that is compared with the forms of another. */
const LONGEST_FORM = 32;
const SNIPPET_BEFORE = 60;
const SNIPPET_LENGTH = 220;

export interface WeighedWord extends QueryWord {
  weight: number;
}

/** A word's occurrence in a text; `word` is its index. */
export interface Hit {
  at: number;
  end: number;
  word: number;
}

/** A part of a text with words of the query. */
export interface Window {
  hits: readonly Hit[];
  /** Position of the rarest word in its densest part. */
  center: number;
  score: number;
}

/** Weight of a word by the number of texts that have it. */
export function rarity(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5)) + 0.05;
}

function isWordCode(code: number): boolean {
  if (code < 128)
    return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57);
  const character = String.fromCharCode(code);
  return /[\p{L}\p{N}]/u.test(character) && !isUnspaced(character);
}

/** True at a word boundary, also inside camel case names. */
function isEdge(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return true;
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  if (!isWordCode(before) || !isWordCode(after)) return true;
  const isCapital = after >= 65 && after <= 90;
  if (!isCapital) return false;
  const next = text.charCodeAt(at + 1);
  return !(before >= 65 && before <= 90) || (next >= 97 && next <= 122);
}

/** All occurrences of the words, in order. */
function hitsIn(text: string, words: readonly QueryWord[]): Hit[] {
  const folded = fold(text);
  const hits: Hit[] = [];
  for (const [word, { text: typed, unspaced, forms }] of words.entries()) {
    let count = 0;
    for (const wanted of forms?.starts ?? [typed])
      for (let at = folded.indexOf(wanted); at >= 0 && count < HITS; at = folded.indexOf(wanted, at + 1)) {
        let end = at + wanted.length;
        if (!unspaced && !isEdge(text, at)) continue;
        if (forms) while (end - at <= LONGEST_FORM && !isEdge(text, end)) end += 1;
        if (forms ? !forms.all.has(folded.slice(at, end)) : !unspaced && !isEdge(text, end)) continue;
        hits.push({ at, end, word });
        count += 1;
      }
  }
  return hits.sort((a, b) => a.at - b.at || b.end - a.end);
}

/** Whether a text has a word, and not only its tokens. */
export function hasWord(text: string, word: QueryWord): boolean {
  return hitsIn(text, [word]).length > 0;
}

/** Sum of the weights of the distinct words among the hits. */
function weightOf(hits: readonly Hit[], words: readonly WeighedWord[]): number {
  let sum = 0;
  for (const word of new Set(hits.map((hit) => hit.word))) sum += words[word]?.weight ?? 0;
  return sum;
}

/** The hits within `width` characters with the greatest weight; `weigh` returns the weight of a hit's word. */
export function densest(
  hits: readonly Hit[],
  width: number,
  weigh: (word: number) => number,
): { from: number; to: number; weight: number } {
  const counts = new Map<number, number>();
  const best = { from: 0, to: 0, weight: -1 };
  let weight = 0;
  let from = 0;
  for (const [to, hit] of hits.entries()) {
    const count = counts.get(hit.word) ?? 0;
    if (count === 0) weight += weigh(hit.word);
    counts.set(hit.word, count + 1);
    for (let first = hits[from]; from < to && first && hit.end - first.at > width; first = hits[from]) {
      const left = (counts.get(first.word) ?? 1) - 1;
      counts.set(first.word, left);
      if (left === 0) weight -= weigh(first.word);
      from += 1;
    }
    if (weight > best.weight + 1e-9) Object.assign(best, { from, to, weight });
  }
  return best;
}

function stretches(hits: readonly Hit[]): Hit[][] {
  const groups: Hit[][] = [];
  for (const hit of hits) {
    const group = groups.at(-1);
    if (group?.[0] && hit.end - group[0].at <= RANK_WINDOW) group.push(hit);
    else groups.push([hit]);
  }
  return groups;
}

/**
 * The windows of a text, best first; empty when it has no word. A text with most of the words ranks above one with few of
 * them, whatever their weights.
 */
export function windowsOf(text: string, words: readonly WeighedWord[]): Window[] {
  const hits = hitsIn(text, words);
  if (hits.length === 0) return [];
  const total = words.reduce((sum, { weight, made }) => sum + (made ? 0 : weight), 0);
  const covered = Math.min(1, weightOf(hits, words) / total);
  const weigh = (word: number): number => words[word]?.weight ?? 0;
  const windows = stretches(hits).map((group) => {
    const near = densest(group, NEAR, weigh);
    const weight = NEAR_SHARE * near.weight + (1 - NEAR_SHARE) * weightOf(group, words);
    let rarest = group[near.from];
    for (const hit of group.slice(near.from, near.to + 1))
      if (rarest && weigh(hit.word) > weigh(rarest.word)) rarest = hit;
    return { hits: group, center: rarest?.at ?? 0, score: covered * weight };
  });
  windows.sort((a, b) => b.score - a.score);
  const least = (windows[0]?.score ?? 0) * LEAST_SHARE;
  return windows.slice(0, WINDOWS).filter(({ score }) => score >= least);
}

/** Weight by author: the user's text matters most, tool output is mostly bulk, a summary only repeats other entries. */
export function roleWeight(kind: EntryKind | "node", role: Role | undefined): number {
  if (role === "user") return 1.5;
  if (role === "assistant") return 1.1;
  if (role === "toolResult") return 0.9;
  return 0.7;
}

/** One line of text around the words. */
export function windowSnippet(text: string, { center }: Window): string {
  let start = Math.max(0, center - SNIPPET_BEFORE);
  if (isLow(text, start)) start -= 1;
  let end = Math.min(text.length, start + SNIPPET_LENGTH);
  if (isLow(text, end)) end -= 1;
  const part = text.slice(start, end).replace(/\s+/g, " ").trim();
  return `${start > 0 ? "…" : ""}${part}${end < text.length ? "…" : ""}`;
}

/** True for the second half of a surrogate pair. */
export function isLow(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code < 0xe000;
}
