/** Where a program's list of messages continues the conversation that is stored. */

export interface Alignment {
  /** Messages of the program's list before the first one that is stored: heads and summaries. */
  unknown: number;
  /** Stored messages that the list has, as indexes: the list's `unknown + n` is the stored `from + n`. */
  from: number;
  count: number;
}

/** Length of the run in which both lists are equal. */
function runLength(stored: readonly string[], from: number, list: readonly string[], at: number): number {
  let length = 0;
  while (from + length < stored.length && at + length < list.length) {
    if (stored[from + length] !== list[at + length]) break;
    length += 1;
  }
  return length;
}

/**
 * Finds the run of stored messages that a program's list has: the first one that reaches the end of what is stored, else the longest.
 * `begins`: where the messages begin that the last compaction kept; it decides between equal messages. Undefined where nothing of the list
 * is stored.
 */
export function alignLists(
  stored: readonly string[],
  list: readonly string[],
  begins?: number,
): Alignment | undefined {
  const places = new Map<string, number[]>();
  stored.forEach((mark, index) => {
    const known = places.get(mark);
    if (known) known.push(index);
    else places.set(mark, [index]);
  });
  let best: Alignment | undefined;
  for (let at = 0; at < list.length; at += 1) {
    const found = places.get(list[at] ?? "") ?? [];
    const isKnown = at > 0 && begins !== undefined && found.includes(begins);
    for (const from of isKnown ? [begins, ...found] : found) {
      const count = runLength(stored, from, list, at);
      if (from + count === stored.length) return { unknown: at, from, count };
      if (!best || count > best.count) best = { unknown: at, from, count };
    }
    // A later run would be a part of this one, or shorter than what is left.
    if (best && best.count >= list.length - at) break;
  }
  return best;
}
