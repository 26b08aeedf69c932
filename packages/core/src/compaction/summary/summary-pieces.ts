/**
 * Splits a summary that grows with each compaction: existing text stays byte for byte, and new text is appended under its
 * own heading. The pieces are sent separately, so that a provider's cache still has the old ones.
 */

/** Heading of the text that one compaction has added. */
export const SINCE_THEN = "# Since then";
/** Heading of the text that is rewritten each time. */
export const AT_THE_END = "# At the end";

const BOUNDARY = new RegExp(`(?<=\n\n)(?=(?:${SINCE_THEN}|${AT_THE_END})\n)`);

/** Pieces of a summary's text in order, at least one; joined, they are the text. */
export function summaryPieces(text: string): string[] {
  return text.split(BOUNDARY);
}
