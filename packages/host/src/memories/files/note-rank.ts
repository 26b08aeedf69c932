/** Ranks passages for a query with BM25. The same notes and query give the same hits in the same order. */
import type { MemoryHit } from "@pagurus/contract/engine/memory";
import type { IndexedNote } from "./indexed-note.ts";
import type { Pace } from "@pagurus/core/platform/pace";
import { queryTerms } from "./note-words.ts";

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
/** Cutoff, as a share of the best score: passages below it matched only common words. */
const LEAST_NOTE_SHARE = 0.15;
/** Passages handled between two checks of the clock. */
const STRIDE = 4_096;

/** The notes, each with the index of its first passage among all passages. */
interface Numbered {
  notes: { note: IndexedNote; base: number }[];
  total: number;
  averageLength: number;
}

function numbered(notes: readonly IndexedNote[]): Numbered {
  let total = 0;
  let length = 0;
  const bases = notes.map((note) => {
    const base = total;
    total += note.size;
    length += note.length;
    return { note, base };
  });
  return { notes: bases, total, averageLength: Math.max(1, length / Math.max(1, total)) };
}

/** Score of each passage, by index. */
async function scoresOf(query: string, all: Numbered, pace: Pace): Promise<Float64Array> {
  const { notes, total, averageLength } = all;
  const scores = new Float64Array(total);
  for (const term of queryTerms(query)) {
    const counts = new Float32Array(total);
    for (const { note, base } of notes) {
      note.count(term, counts, base);
      if (pace.due) await pace.rest();
    }
    let found = 0;
    for (const count of counts) if (count > 0) found += 1;
    const rarity = Math.log(1 + (total - found + 0.5) / (found + 0.5));
    if (pace.due) await pace.rest();
    for (const { note, base } of notes) {
      for (let passage = 0; passage < note.size; passage += 1) {
        if (passage % STRIDE === 0 && pace.due) await pace.rest();
        const count = counts[base + passage] ?? 0;
        if (count === 0) continue;
        const length = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * note.foldedLength(passage)) / averageLength;
        const score = (rarity * count * (SATURATION + 1)) / (count + SATURATION * length);
        scores[base + passage] = (scores[base + passage] ?? 0) + score;
      }
    }
  }
  return scores;
}

interface Found {
  score: number;
  place: number;
}

/** The passages with the best scores, rounded for display; ties go to the first. */
async function bestOf(scores: Float64Array, limit: number, pace: Pace): Promise<Found[]> {
  let best: Found[] = [];
  /** Score that a further passage has to exceed. A lower score cannot round to more. */
  let least = 0;
  const cut = (): void => {
    best = best.toSorted((a, b) => b.score - a.score || a.place - b.place).slice(0, limit);
    if (best.length === limit) least = scores[best.at(-1)?.place ?? 0] ?? 0;
  };
  const capacity = 2 * limit + STRIDE;
  for (let place = 0; place < scores.length; place += 1) {
    if (place % STRIDE === 0 && pace.due) await pace.rest();
    const score = scores[place] ?? 0;
    if (score <= least) continue;
    best.push({ score: Number(score.toPrecision(4)), place });
    if (best.length >= capacity) cut();
  }
  cut();
  return best;
}

/** The best passages of the notes, which are sorted by path. Throws the reason of `pace`'s signal. */
export async function rankPassages(
  query: string,
  notes: readonly IndexedNote[],
  limit: number,
  pace: Pace,
): Promise<MemoryHit[]> {
  if (limit < 1) return [];
  const all = numbered(notes);
  const best = await bestOf(await scoresOf(query, all, pace), Math.floor(limit), pace);
  const least = (best[0]?.score ?? 0) * LEAST_NOTE_SHARE;
  return best
    .filter(({ score }) => score > least)
    .map(({ score, place }) => {
      const found = all.notes.findLast(({ base }) => base <= place);
      const passage = place - (found?.base ?? 0);
      const { note } = found ?? {};
      return {
        path: note?.path ?? "",
        line: note?.line(passage) ?? 1,
        text: note?.text(passage) ?? "",
        score,
      };
    });
}
