/** Which messages pi keeps after a compaction. */
import type { ProgramMessage } from "../client/host-client.ts";

/**
 * The messages that stay, as pi keeps them: all from one on. The earliest from which each message is kept; a tool result does not begin
 * them. `before` are kept ones that lie before it.
 */
export function keptEnd(
  messages: readonly ProgramMessage[],
  keep: readonly number[],
): { first: number; before: number[] } {
  const kept = new Set(keep);
  let first = messages.length;
  while (first > 0 && kept.has(first - 1)) first -= 1;
  while (first > 0 && first < messages.length && (messages[first]?.results.length ?? 0) > 0) first -= 1;
  return { first, before: keep.filter((index) => index < first) };
}
