/** Ranks passages for a query with BM25. The same notes and query give the same hits in the same order. */
import type { MemoryHit } from "../../contract/memory.ts";
import type { Passage } from "./passages.ts";
import { countTerm, queryTerms } from "./words.ts";

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
/** What a term in a passage's headings or path counts, besides those in its text. */
const CONTEXT_WEIGHT = 0.5;
/** A passage with less of the best one's score matched only words that are everywhere. */
const LEAST_SHARE = 0.15;

function lengthOf(passages: readonly Passage[]): number {
  const sum = passages.reduce((total, { folded }) => total + folded.length, 0);
  return Math.max(1, sum / Math.max(1, passages.length));
}

export function rankPassages(query: string, passages: readonly Passage[], limit: number): MemoryHit[] {
  const average = lengthOf(passages);
  const scores = new Map<Passage, number>();
  for (const term of queryTerms(query)) {
    const found: { passage: Passage; count: number }[] = [];
    for (const passage of passages) {
      const around = countTerm(passage.context, term) > 0 ? CONTEXT_WEIGHT : 0;
      const count = countTerm(passage.folded, term) + around;
      if (count > 0) found.push({ passage, count });
    }
    const rarity = Math.log(1 + (passages.length - found.length + 0.5) / (found.length + 0.5));
    for (const { passage, count } of found) {
      const length = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * passage.folded.length) / average;
      const score = (rarity * count * (SATURATION + 1)) / (count + SATURATION * length);
      scores.set(passage, (scores.get(passage) ?? 0) + score);
    }
  }
  const hits = [...scores].map(([{ path, line, text }, score]) => ({
    path,
    line,
    text,
    score: Number(score.toPrecision(4)),
  }));
  hits.sort((a, b) => b.score - a.score || compare(a.path, b.path) || a.line - b.line);
  const least = (hits[0]?.score ?? 0) * LEAST_SHARE;
  return hits.filter(({ score }) => score > least).slice(0, limit);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
