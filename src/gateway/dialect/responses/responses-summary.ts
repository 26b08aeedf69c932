/**
 * A summary as the content of a `compaction` element. Codex keeps the content and sends it with every request; no model can read it,
 * so the gateway has to recognize it and replace it with text.
 */
import { type MessageItem, messageItem } from "../../../protocols/responses/responses-items.ts";
import { SUMMARY_INTRODUCTION } from "./responses-codex.ts";

const MARK = "pagurus:summary:1\n";

export function sealed(summary: string): string {
  return `${MARK}${summary}`;
}

/** Undefined for content that another program made. */
export function unsealed(content: unknown): string | undefined {
  return typeof content === "string" && content.startsWith(MARK) ? content.slice(MARK.length) : undefined;
}

/** The summary as text, as Codex's own compaction would have left it. */
export function summaryMessage(summary: string): MessageItem {
  return messageItem("user", `${SUMMARY_INTRODUCTION}\n${summary}`);
}
