/** What changed between the bodies of two requests: the first byte that differs, its part, and the parts that came, went or moved. */
import type { BodyDiff, ChangedPart } from "@pagurus/api/types";
import { createHash } from "node:crypto";
import type { BodyPart } from "../parts/body-part.ts";
import { defined } from "@pagurus/core/data/defined";

/** A request's body with its parts. */
export interface DividedBody {
  body: Buffer;
  parts: readonly BodyPart[];
}

export function bodyDiff(before: DividedBody, after: DividedBody): BodyDiff {
  const firstByte = firstDifference(before.body, after.body);
  const firstPart = firstByte === undefined ? -1 : after.parts.findIndex(({ to }) => to > firstByte);
  const cut = firstPart < 0 ? after.parts.length : firstPart;
  return {
    ...defined({ firstByte }),
    ...(firstPart < 0 ? {} : { firstPart }),
    sharedTokens: tokensOf(after.parts.slice(0, cut)),
    restTokens: tokensOf(after.parts.slice(cut)),
    ...partChanges(keyedParts(before), keyedParts(after)),
  };
}

function tokensOf(parts: readonly BodyPart[]): number {
  return parts.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Undefined where both are equal. */
function firstDifference(before: Buffer, after: Buffer): number | undefined {
  const most = Math.min(before.length, after.length);
  const step = 64 * 1024;
  for (let from = 0; from < most; from += step) {
    const to = Math.min(most, from + step);
    if (before.compare(after, from, to, from, to) === 0) continue;
    for (let at = from; at < to; at++) if (before[at] !== after[at]) return at;
  }
  return before.length === after.length ? undefined : most;
}

interface KeyedPart {
  index: number;
  digest: string;
}

/** The parts but framing, by what identifies each across requests: its entries or file, else its source, and which of these it is. */
function keyedParts({ body, parts }: DividedBody): Map<string, KeyedPart> {
  const seen = new Map<string, number>();
  const keyed = new Map<string, KeyedPart>();
  for (const [index, part] of parts.entries()) {
    if (part.source === "framing") continue;
    const digest = createHash("sha256").update(body.subarray(part.from, part.to)).digest("base64url");
    // Without an entry the content itself is the best name: a list of tools may have one more in its middle.
    const base = part.entryIds?.join(" ") ?? part.path ?? (part.source === "tools" ? digest : part.source);
    const nth = seen.get(base) ?? 0;
    seen.set(base, nth + 1);
    keyed.set(`${base}#${nth}`, { index, digest });
  }
  return keyed;
}

function partChanges(
  before: ReadonlyMap<string, KeyedPart>,
  after: ReadonlyMap<string, KeyedPart>,
): Pick<BodyDiff, "changes" | "unchangedParts"> {
  const inOrder = longestOrder([...after.keys()].map((key) => before.get(key)?.index ?? -1));
  const changes: ChangedPart[] = [];
  let unchangedParts = 0;
  const gone = [...before].filter(([key]) => !after.has(key)).map(([, { index }]) => index);
  let position = 0;
  for (const [key, { index, digest }] of after) {
    const earlier = before.get(key);
    const isInOrder = inOrder.has(position++);
    while (earlier && isInOrder && gone[0] !== undefined && gone[0] < earlier.index)
      changes.push({ change: "removed", before: gone.shift() as number });
    if (!earlier) changes.push({ change: "added", after: index });
    else if (earlier.digest !== digest)
      changes.push({ change: "changed", before: earlier.index, after: index });
    else if (isInOrder) unchangedParts += 1;
    else changes.push({ change: "moved", before: earlier.index, after: index });
  }
  for (const index of gone) changes.push({ change: "removed", before: index });
  return { changes, unchangedParts };
}

/** Positions of a longest rising run of the values, in order; values below 0 do not count. */
function longestOrder(values: readonly number[]): Set<number> {
  const tails: number[] = [];
  const previous: number[] = [];
  for (const [at, value] of values.entries()) {
    if (value < 0) continue;
    let low = 0;
    for (let high = tails.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((values[tails[middle] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    previous[at] = low === 0 ? -1 : (tails[low - 1] ?? -1);
    tails[low] = at;
  }
  const found = new Set<number>();
  for (let at = tails.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) found.add(at);
  return found;
}
