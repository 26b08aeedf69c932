import { type MessageItem, messageItem } from "@pagurus/core/protocols/responses/responses-items";
import { SUMMARY_INTRODUCTION } from "./responses-codex.ts";

/** The summary of a `compaction` element as text, as Codex's own compaction would have left it. */
export function summaryMessage(summary: string): MessageItem {
  return messageItem("user", `${SUMMARY_INTRODUCTION}\n${summary}`);
}
