/** Stretches of a text that are worth showing: around the words that were looked for, cut where sentences or lines end. */
import { densest, isLow, type Hit } from "./rank.ts";

/** Characters of a text, the end excluded. */
export type Range = readonly [start: number, end: number];

/** What is shown before and behind words, at most. */
const MARGIN = 80;
/** Words that are further apart are not shown in one stretch. */
const WIDTH = 300;
const STRETCHES = 6;
/** A further stretch has at least this share of the weight of all words. */
const LEAST_SHARE = 0.1;
/** A word that was shown already counts this much in a further stretch. */
const AGAIN = 0.2;
/** A gap as short as this is shown. */
const GAP = 40;
/** A shorter sentence or line is nobody's repetition. */
const UNIT = 12;

const ENDS = /\n|[.!?](?=\s)|[。！？]/g;

/** At most `margin` characters before `at`, from the first sentence or line that begins there. */
function startBefore(text: string, at: number, margin: number): number {
  const start = Math.max(0, at - margin);
  if (start === 0) return 0;
  const [end] = text.slice(start, at).matchAll(ENDS);
  if (end) return start + end.index + 1;
  const gap = text.slice(start, at).search(/\s/);
  return gap < 0 ? start - (isLow(text, start) ? 1 : 0) : start + gap + 1;
}

/** At most `margin` characters behind `at`, to the last sentence or line that ends there. */
function endBehind(text: string, at: number, margin: number): number {
  const end = Math.min(text.length, at + margin);
  if (end === text.length) return end;
  const part = text.slice(at, end);
  const last = [...part.matchAll(ENDS)].at(-1);
  if (last) return at + last.index + 1;
  const gap = part.search(/\s\S*$/);
  return gap < 0 ? end - (isLow(text, end) ? 1 : 0) : at + gap;
}

/** In order, with what lies close together joined. */
function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && start - last[1] < GAP) result[result.length - 1] = [last[0], Math.max(last[1], end)];
    else result.push([start, end]);
  }
  return result;
}

/** The stretches that hold most of the words, of about `most` characters together; a short text is one stretch. */
export function around(
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
    const end = endBehind(text, rest[best.to]?.end ?? 0, MARGIN);
    ranges.push([start, end]);
    left -= end - start;
    for (const { word } of rest.slice(best.from, best.to + 1)) shown.add(word);
    rest = rest.filter((hit) => hit.at >= end || hit.end <= start);
  }
  return joined(ranges);
}

/** The text from `start` on, of at most `most` characters. */
export function beginning(text: string, start: number, end: number, most: number): Range {
  return end - start <= most ? [start, end] : [start, endBehind(text, start + most / 2, most / 2)];
}

/** The ranges with `more` characters of what stands around them, in all. */
export function widened(text: string, ranges: readonly Range[], more: number): Range[] {
  const each = Math.floor(more / Math.max(1, 2 * ranges.length));
  return joined(ranges.map(([start, end]) => [startBefore(text, start, each), endBehind(text, end, each)]));
}

/** What of the ranges is in none of the others. */
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

/** Its sentences and lines; of a text that is shorter than one, the text. */
export function unitsOf(text: string): string[] {
  const units = text.split(/\n|(?<=[.!?])\s|(?<=[。！？])/).map((unit) => unit.trim());
  const long = units.filter((unit) => unit.length > UNIT);
  return long.length > 0 ? long : [text.trim()];
}
