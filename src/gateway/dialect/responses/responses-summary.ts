/**
 * A summary as the content of a `compaction` element. Codex keeps the content and sends it with every request; no model can read it,
 * so the gateway has to recognize it and replace it with text.
 */
import { type MessageItem, messageItem } from "../../../protocols/responses/responses-items.ts";
import { SUMMARY_INTRODUCTION } from "./responses-codex.ts";

/** The mark, and the name of the conversation if the gateway made it from the conversation's first words. */
const MARK = /^pagurus:summary:1(?::([\w-]+))?\n/;

export interface Unsealed {
  summary: string;
  contentId?: string;
}

export function sealed({ summary, contentId }: Unsealed): string {
  return `pagurus:summary:1${contentId === undefined ? "" : `:${contentId}`}\n${summary}`;
}

/** Undefined for content that another program made. */
export function unsealed(content: unknown): Unsealed | undefined {
  const mark = typeof content === "string" ? MARK.exec(content) : null;
  if (!mark) return undefined;
  const [head, contentId] = mark;
  const summary = mark.input.slice(head.length);
  return { summary, ...(contentId === undefined ? {} : { contentId }) };
}

/** The summary as text, as Codex's own compaction would have left it. */
export function summaryMessage(summary: string): MessageItem {
  return messageItem("user", `${SUMMARY_INTRODUCTION}\n${summary}`);
}
