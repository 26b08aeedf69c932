/**
 * Rendering of passages that an engine adds to a context for the turn's input: a user message with fixed delimiters, the same
 * bytes for the same passages.
 */
import { quoted } from "../fence.ts";

const TAG = "recalled_passages";
const OPEN = `<${TAG}>\n`;
const CLOSE = `\n</${TAG}>`;

/** Text in the passages cannot close the block: it is escaped (`quoted`). */
export function renderRecall(passages: string): string {
  return OPEN + quoted(passages, TAG) + CLOSE;
}

/** True for a text made by `renderRecall`. */
export function isRecallBlock(text: string): boolean {
  return text.startsWith(OPEN) && text.endsWith(CLOSE);
}
