/** The live turn's messages that no element says word for word: which elements of the harness's may stand for them. */
import { atomsOf } from "./atoms.ts";
import type { Matches } from "./match.ts";

/** Messages and elements between two messages that elements say. */
export interface LiveGap {
  /** Something is said there that the harness does not have, such as a summary: its own elements go. */
  isReplaced: boolean;
  /** Elements of the harness's are there, or may come yet. */
  isCovered: boolean;
}

/** For each message of the live turn the gap that it is in; undefined for those that elements say, and for older ones. */
export function liveGaps(matches: Matches, historyCount: number): (LiveGap | undefined)[] {
  const { said, items, liveFrom, messages, places } = matches;
  const gaps: (LiveGap | undefined)[] = said.map(() => undefined);
  const isForeign = (index: number): boolean => matches.hasWords(index) && !matches.isOriginal(index);
  let from = liveFrom;
  let open: number[] = [];
  const close = (to: number, mayCome: boolean): void => {
    let hasOwn = false;
    for (let item = from; item < to && !hasOwn; item++)
      hasOwn = places.isSaid(item) && messages[item] === undefined;
    const gap = { isReplaced: open.some(isForeign), isCovered: hasOwn || mayCome };
    for (const index of open) gaps[index] = gap;
    open = [];
  };
  for (let index = historyCount; index < said.length; index++) {
    const own = items[index];
    if (own === undefined) open.push(index);
    else {
      close(own[0] ?? from, false);
      from = (own.at(-1) ?? from) + 1;
    }
  }
  // What was said last may be on its way to the harness.
  close(messages.length, open.length < said.length - historyCount);
  for (const index of elsewhere(matches, historyCount)) gaps[index] = { isReplaced: false, isCovered: true };
  return gaps;
}

/** Words of the user that the harness has at another place, as those that join behind an answer: each element stands for one. */
function elsewhere(matches: Matches, historyCount: number): number[] {
  const { said, items, liveFrom, messages, places } = matches;
  const taken = new Set<number>();
  const stray = (key: string): number | undefined =>
    places
      .of(key)
      .map((place) => places.placed[place]?.item ?? -1)
      .find((item) => item >= liveFrom && messages[item] === undefined && !taken.has(item));
  return said.flatMap((message, index) => {
    if (message.role !== "user" || index < historyCount || items[index] !== undefined) return [];
    if (!matches.isOriginal(index)) return [];
    const found = atomsOf(message).map(({ key }) => stray(key));
    if (found.length === 0 || found.includes(undefined)) return [];
    for (const item of found) taken.add(item ?? -1);
    return [index];
  });
}
