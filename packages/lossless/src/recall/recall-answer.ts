/** Sizes and form of a recall tool's answer, which its declaration names too. */
import type { ToolOutcome } from "@pagurus/contract/harness/tool";

/** Default size and limit of an answer, tokens. */
export const PAGE_TOKENS = 2_000;
export const MOST_PAGE_TOKENS = 8_000;
/** Where a search looks, each further than the one before. */
export const SEARCH_SCOPES = ["session", "folder", "agent"];

export function textOutcome(text: string, isError = false): ToolOutcome {
  return { content: [{ type: "text", text }], isError };
}
