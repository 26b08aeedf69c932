/** Compares two bodies element by element, and shows how much of the second one a provider's cache could have read. */
import type { BodyElement, BodyView } from "./elements.ts";

/** `marked`: same content, other cache marks; `replaced`: gone, with another element in its place; `dropped`: gone; `added`: new. */
export type ElementState = "kept" | "marked" | "replaced" | "dropped" | "added";

export interface ComparedElement {
  state: ElementState;
  element: BodyElement;
  /** Place of a kept or marked element in the second body. */
  now?: string;
}

export interface BodyDiff {
  elements: ComparedElement[];
  counts: Record<ElementState, { elements: number; bytes: number }>;
  sharedPrefix: {
    /** Bytes of the second body's elements, in the order in which a provider reads them. */
    bytes: number;
    of: number;
    percent: number;
    elements: number;
  };
  /** Whether both requests use the same model; a provider's cache is per model. */
  isSameModel: boolean;
}

/** Limit for the full comparison of all pairs. */
const MOST_PAIRS = 4_000_000;

export function compareBodies(
  a: { view: BodyView; body: Buffer },
  b: { view: BodyView; body: Buffer },
): BodyDiff {
  const before = a.view.elements;
  const after = b.view.elements;
  const elements = merged(before, after, commonPairs(before, after));
  const counts: BodyDiff["counts"] = {
    kept: { elements: 0, bytes: 0 },
    marked: { elements: 0, bytes: 0 },
    replaced: { elements: 0, bytes: 0 },
    dropped: { elements: 0, bytes: 0 },
    added: { elements: 0, bytes: 0 },
  };
  for (const { state, element } of elements) {
    counts[state].elements += 1;
    counts[state].bytes += element.bytes;
  }
  return { elements, counts, sharedPrefix: sharedPrefix(a, b), isSameModel: a.view.model === b.view.model };
}

function sharedPrefix(
  a: { view: BodyView; body: Buffer },
  b: { view: BodyView; body: Buffer },
): BodyDiff["sharedPrefix"] {
  const after = b.view.elements;
  const before = a.view.elements;
  const of = after.reduce((sum, { bytes }) => sum + bytes, 0);
  let equal = 0;
  let bytes = 0;
  while (equal < after.length && before[equal]?.saysHash === after[equal]?.saysHash) {
    bytes += after[equal]?.bytes ?? 0;
    equal += 1;
  }
  const last = before[equal];
  const next = after[equal];
  if (last && next) {
    bytes += commonStart(
      a.body.subarray(last.span.start, last.span.end),
      b.body.subarray(next.span.start, next.span.end),
    );
  }
  return { bytes, of, percent: of === 0 ? 0 : Math.round((bytes / of) * 1000) / 10, elements: equal };
}

function commonStart(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a[at] === b[at]) at += 1;
  return at;
}

type Pair = readonly [before: number, after: number];

/** Longest common subsequence: elements that are in both bodies, in the same order. */
function commonPairs(before: readonly BodyElement[], after: readonly BodyElement[]): Pair[] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start]?.saysHash === after[start]?.saysHash) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end)?.saysHash === after.at(-1 - end)?.saysHash) end += 1;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  const middle = a.length * b.length > MOST_PAIRS ? firstMatches(a, b) : longest(a, b);
  return [
    ...Array.from({ length: start }, (_, at): Pair => [at, at]),
    ...middle.map(([x, y]): Pair => [x + start, y + start]),
    ...Array.from({ length: end }, (_, at): Pair => [before.length - end + at, after.length - end + at]),
  ];
}

function longest(a: readonly BodyElement[], b: readonly BodyElement[]): Pair[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let x = a.length - 1; x >= 0; x--) {
    for (let y = b.length - 1; y >= 0; y--) {
      const isSame = a[x]?.saysHash === b[y]?.saysHash;
      const skipped = Math.max(lengths[(x + 1) * width + y] ?? 0, lengths[x * width + y + 1] ?? 0);
      lengths[x * width + y] = isSame ? (lengths[(x + 1) * width + y + 1] ?? 0) + 1 : skipped;
    }
  }
  const pairs: Pair[] = [];
  for (let x = 0, y = 0; x < a.length && y < b.length;) {
    if (a[x]?.saysHash === b[y]?.saysHash) pairs.push([x++, y++]);
    else if ((lengths[(x + 1) * width + y] ?? 0) >= (lengths[x * width + y + 1] ?? 0)) x += 1;
    else y += 1;
  }
  return pairs;
}

/** Pairs each element with the next equal one; not the longest list, but found in one pass. */
function firstMatches(a: readonly BodyElement[], b: readonly BodyElement[]): Pair[] {
  const places = new Map<string, number[]>();
  for (const [at, { saysHash: hash }] of b.entries()) {
    const known = places.get(hash);
    if (known) known.push(at);
    else places.set(hash, [at]);
  }
  const pairs: Pair[] = [];
  let from = 0;
  for (const [at, { saysHash: hash }] of a.entries()) {
    const found = places.get(hash)?.find((place) => place >= from);
    if (found === undefined) continue;
    pairs.push([at, found]);
    from = found + 1;
  }
  return pairs;
}

function merged(
  before: readonly BodyElement[],
  after: readonly BodyElement[],
  pairs: readonly Pair[],
): ComparedElement[] {
  const found: ComparedElement[] = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...pairs, [before.length, after.length] as const]) {
    const gone = before.slice(x, nextX);
    const come = after.slice(y, nextY);
    const state = come.length > 0 ? "replaced" : "dropped";
    found.push(...gone.map((element) => ({ state, element }) as const));
    found.push(...come.map((element) => ({ state: "added", element }) as const));
    const kept = before[nextX];
    const now = after[nextY];
    if (kept && now)
      found.push({ state: kept.hash === now.hash ? "kept" : "marked", element: kept, now: now.at });
    [x, y] = [nextX + 1, nextY + 1];
  }
  return found;
}
