/**
 * Rendering of a compaction's summary in a context: a user message with fixed delimiters, the same bytes for the same summary.
 */
const OPEN = "<conversation_summary>\n";
const CLOSE = "\n</conversation_summary>";

export function renderSummary(summary: string): string {
  return OPEN + summary + CLOSE;
}

/** The summary inside a text made by `renderSummary`; undefined for any other text. */
export function readSummary(text: string): string | undefined {
  return text.startsWith(OPEN) && text.endsWith(CLOSE) ? text.slice(OPEN.length, -CLOSE.length) : undefined;
}
