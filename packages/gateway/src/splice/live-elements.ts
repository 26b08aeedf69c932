/** Finds messages of the live turn without an exact element, and whether elements of the harness may represent them. */
import { atomsOf } from "./atoms.ts";
import type { Matches } from "./match.ts";

/** Messages and elements between two messages that have elements. */
export interface LiveGap {
  /** A message there is not the harness's, such as a summary: it replaces the harness's own elements. */
  isReplaced: boolean;
  /** Elements of the harness are there, or may still come. */
  isCovered: boolean;
}

/** The gap of each message of the live turn; undefined for messages with elements, and for older ones. */
export function liveGaps(matches: Matches, historyCount: number): (LiveGap | undefined)[] {
  const { context, items, liveFrom, messages, places } = matches;
  const gaps: (LiveGap | undefined)[] = context.map(() => undefined);
  const isForeign = (index: number): boolean => matches.hasWords(index) && !matches.isOriginal(index);
  let from = liveFrom;
  let open: number[] = [];
  const close = (to: number, mayCome: boolean): void => {
    let hasOwn = false;
    for (let item = from; item < to && !hasOwn; item++)
      hasOwn = places.hasAtoms(item) && messages[item] === undefined;
    const gap = { isReplaced: open.some(isForeign), isCovered: hasOwn || mayCome };
    for (const index of open) gaps[index] = gap;
    open = [];
  };
  for (let index = historyCount; index < context.length; index++) {
    const own = items[index];
    if (own === undefined) open.push(index);
    else {
      close(own[0] ?? from, false);
      from = (own.at(-1) ?? from) + 1;
    }
  }
  // The last message may still be on its way to the harness.
  close(messages.length, open.length < context.length - historyCount);
  for (const index of elsewhere(matches, historyCount)) gaps[index] = { isReplaced: false, isCovered: true };
  return gaps;
}

/**
 * User messages whose text the harness has at another place, such as input that joins after an answer: each element matches one
 * message.
 */
function elsewhere(matches: Matches, historyCount: number): number[] {
  const { context, items, liveFrom, messages, places } = matches;
  const taken = new Set<number>();
  const stray = (key: string): number | undefined =>
    places
      .of(key)
      .map((place) => places.placed[place]?.item ?? -1)
      .find((item) => item >= liveFrom && messages[item] === undefined && !taken.has(item));
  return context.flatMap((message, index) => {
    if (message.role !== "user" || index < historyCount || items[index] !== undefined) return [];
    if (!matches.isOriginal(index)) return [];
    const found = atomsOf(message).map(({ key }) => stray(key));
    if (found.length === 0 || found.includes(undefined)) return [];
    for (const item of found) taken.add(item ?? -1);
    return [index];
  });
}
