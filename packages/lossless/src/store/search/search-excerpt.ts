/** Chooses excerpts of a text around the searched words, cut where sentences or lines end. */
import { densest, isLow, type Hit } from "./search-rank.ts";

/** Character range of a text, end exclusive. */
export type Range = readonly [start: number, end: number];

/** Limit on the context shown before and after words. Characters. */
const MARGIN = 80;
/** Words that are further apart are not in one excerpt. Characters. */
const WIDTH = 300;
const STRETCHES = 6;
/** Minimum share of the weight of all words for a further excerpt. */
const LEAST_SHARE = 0.1;
/** Weight of an already shown word in a further excerpt. */
const AGAIN = 0.2;
/** Gaps up to this length are shown. Characters. */
const EXCERPT_GAP = 40;
/** Shorter sentences and lines do not count as repetitions. Characters. */
const UNIT = 12;

const ENDS = /\n|[.!?](?=\s)|[。！？]/g;

/** Start of an excerpt: at most `margin` characters before `at`, at the first start of a sentence or line. */
function startBefore(text: string, at: number, margin: number): number {
  const start = Math.max(0, at - margin);
  if (start === 0) return 0;
  const [end] = text.slice(start, at).matchAll(ENDS);
  if (end) return start + end.index + 1;
  const gap = text.slice(start, at).search(/\s/);
  return gap < 0 ? start - (isLow(text, start) ? 1 : 0) : start + gap + 1;
}

/** End of an excerpt: at most `margin` characters after `at`, at the last end of a sentence or line. */
function endAfter(text: string, at: number, margin: number): number {
  const end = Math.min(text.length, at + margin);
  if (end === text.length) return end;
  const part = text.slice(at, end);
  const last = [...part.matchAll(ENDS)].at(-1);
  if (last) return at + last.index + 1;
  const gap = part.search(/\s\S*$/);
  return gap < 0 ? end - (isLow(text, end) ? 1 : 0) : at + gap;
}

/** Sorts ranges and joins those that are close together. */
function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && start - last[1] < EXCERPT_GAP) result[result.length - 1] = [last[0], Math.max(last[1], end)];
    else result.push([start, end]);
  }
  return result;
}

/** Excerpts with most of the words, about `most` characters in total; a short text is one excerpt. */
export function wordsAround(
  text: string,
  hits: readonly Hit[],
  weights: readonly number[],
  most: number,
): Range[] {
  if (text.length <= most) return [[0, text.length]];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const shown = new Set<number>();
  const ranges: Range[] = [];
  let rest = hits;
  let left = most;
  while (rest.length > 0 && ranges.length < STRETCHES && left > MARGIN) {
    const best = densest(
      rest,
      Math.min(WIDTH, left),
      (word) => (weights[word] ?? 0) * (shown.has(word) ? AGAIN : 1),
    );
    if (ranges.length > 0 && best.weight < total * LEAST_SHARE) break;
    const start = startBefore(text, rest[best.from]?.at ?? 0, MARGIN);
    const end = endAfter(text, rest[best.to]?.end ?? 0, MARGIN);
    ranges.push([start, end]);
    left -= end - start;
    for (const { word } of rest.slice(best.from, best.to + 1)) shown.add(word);
    rest = rest.filter((hit) => hit.at >= end || hit.end <= start);
  }
  return joined(ranges);
}

/** The range from `start` on, of at most `most` characters. */
export function beginning(text: string, start: number, end: number, most: number): Range {
  return end - start <= most ? [start, end] : [start, endAfter(text, start + most / 2, most / 2)];
}

/** Widens the ranges by `more` characters in total. */
export function widened(text: string, ranges: readonly Range[], more: number): Range[] {
  const each = Math.floor(more / Math.max(1, 2 * ranges.length));
  return joined(ranges.map(([start, end]) => [startBefore(text, start, each), endAfter(text, end, each)]));
}

/** The parts of the ranges that are in none of the others. */
export function without(ranges: readonly Range[], others: readonly Range[]): Range[] {
  let left: Range[] = [...ranges];
  for (const [from, to] of others)
    left = left.flatMap(([start, end]): Range[] => {
      if (to <= start || from >= end) return [[start, end]];
      const before: Range[] = start < from ? [[start, from]] : [];
      return to < end ? [...before, [to, end]] : before;
    });
  return left;
}

/** Sentences and lines of a text; the text itself when it is shorter than one. */
export function unitsOf(text: string): string[] {
  const units = text.split(/\n|(?<=[.!?])\s|(?<=[。！？])/).map((unit) => unit.trim());
  const long = units.filter((unit) => unit.length > UNIT);
  return long.length > 0 ? long : [text.trim()];
}
