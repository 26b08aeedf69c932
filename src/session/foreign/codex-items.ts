/** What the items of a Codex rollout are. */
import type { ImagePart, TextPart } from "../../contract/message.ts";
import { fieldsOf, listOf, textOf, type Fields } from "./fields.ts";

const RESULT_TYPES = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "tool_search_output",
]);

/** Texts in the user's place that Codex writes before the first turn and when the folder changes. */
const HOST_CONTEXT = [
  "<environment_context>",
  "<user_instructions>",
  "<permissions instructions>",
  "# AGENTS.md instructions",
];

/** How the summary begins that stands in for a compacted conversation. */
const SUMMARY_OPENING = "Another language model started to solve this problem";

export function isResult(payload: Fields): boolean {
  return RESULT_TYPES.has(textOf(payload["type"]) ?? "");
}

/** True for what this host says anew in its own words. */
export function isHostContext(content: string | readonly (TextPart | ImagePart)[]): boolean {
  const texts =
    typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : ""));
  return (
    texts.length > 0 &&
    texts.every((text) => HOST_CONTEXT.some((opening) => text.trimStart().startsWith(opening)))
  );
}

/** The summary of a compaction; undefined where only the provider can read it. */
export function compactedText(payload: Fields): string | undefined {
  const told = textOf(payload["message"]);
  if (told !== undefined) return told;
  const texts = listOf(payload["replacement_history"]).flatMap((value) => {
    const item = fieldsOf(fieldsOf(value)?.["item"]) ?? fieldsOf(value);
    if (item?.["role"] !== "user") return [];
    return listOf(item["content"]).flatMap((part) => textOf(fieldsOf(part)?.["text"]) ?? []);
  });
  return texts.findLast((text) => text.startsWith(SUMMARY_OPENING));
}
