/** Which messages of a program's list stay after a compaction: whole tool pairs, in their order. */
import type { ProgramMessage } from "./program-message.ts";

/**
 * Adds to the kept indexes those of each pair's other half, until no pair is divided. Undefined where nothing would be left out, since
 * then there is nothing to compact.
 */
export function withWholePairs(
  messages: readonly ProgramMessage[],
  kept: Iterable<number>,
): number[] | undefined {
  const callAt = new Map<string, number>();
  const resultAt = new Map<string, number>();
  messages.forEach(({ calls, results }, index) => {
    for (const { id } of calls) callAt.set(id, index);
    for (const { id } of results) resultAt.set(id, index);
  });
  const all = new Set(kept);
  // A set that grows while it is iterated visits what was added.
  for (const index of all) {
    const message = messages[index];
    for (const { id } of message?.calls ?? []) {
      const at = resultAt.get(id);
      if (at !== undefined) all.add(at);
    }
    for (const { id } of message?.results ?? []) {
      const at = callAt.get(id);
      if (at !== undefined) all.add(at);
    }
  }
  return all.size >= messages.length ? undefined : [...all].toSorted((left, right) => left - right);
}
