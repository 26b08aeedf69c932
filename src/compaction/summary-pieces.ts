/**
 * A summary that grows from compaction to compaction: what it says already stays, byte for byte, and what is new stands
 * behind it, under a heading of its own. In these pieces it is sent, and a provider's cache still holds the old ones.
 */

/** Begins what one compaction has added. */
export const SINCE_THEN = "# Since then";
/** Begins what is told anew each time. */
export const AT_THE_END = "# At the end";

const BOUNDARY = new RegExp(`(?<=\n\n)(?=(?:${SINCE_THEN}|${AT_THE_END})\n)`);

/** Pieces of a summary's text in order, at least one; joined they are the text. */
export function summaryPieces(text: string): string[] {
  return text.split(BOUNDARY);
}
