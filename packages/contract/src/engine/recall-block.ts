/**
 * Rendering of passages that an engine adds to a context for the turn's input: a user message with fixed delimiters, the same
 * bytes for the same passages.
 */
import { quoted } from "../fence.ts";
import type { AgentMessage } from "../message.ts";

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

function textOf({ content }: AgentMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** The newest passages that an engine has added to a context; empty for none. */
export function recallIn(messages: readonly AgentMessage[]): string {
  const block = messages.findLast(
    (message) => message.entryId === undefined && message.role === "user" && isRecallBlock(textOf(message)),
  );
  return block ? textOf(block) : "";
}
