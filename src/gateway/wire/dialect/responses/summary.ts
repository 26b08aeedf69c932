/**
 * A summary as the content of a `compaction` element. Codex keeps the content as it is and sends it with every request; no model
 * can read it, so that it has to be known again and told in words.
 */
import type { ItemFields } from "../../../../responses/items.ts";
import { SUMMARY_INTRODUCTION } from "./codex.ts";

const MARK = "pagurus:summary:1\n";

export function sealed(summary: string): string {
  return `${MARK}${summary}`;
}

/** Undefined for what another made. */
export function unsealed(content: unknown): string | undefined {
  return typeof content === "string" && content.startsWith(MARK) ? content.slice(MARK.length) : undefined;
}

/** The summary in words, as Codex's own compaction would have left it. */
export function summaryMessage(summary: string): ItemFields {
  const text = `${SUMMARY_INTRODUCTION}\n${summary}`;
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}
