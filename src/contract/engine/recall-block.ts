/**
 * Rendering of passages that an engine adds to a context for the turn's input: a user message with fixed delimiters, the same
 * bytes for the same passages.
 */
const OPEN = "<recalled_passages>\n";
const CLOSE = "\n</recalled_passages>";

export function renderRecall(passages: string): string {
  return OPEN + passages + CLOSE;
}

/** True for a text made by `renderRecall`. */
export function isRecallBlock(text: string): boolean {
  return text.startsWith(OPEN) && text.endsWith(CLOSE);
}
