/** Classification of the items of a Codex rollout. */
import { hash } from "node:crypto";
import type { FragmentNote } from "@pagurus/contract/fragment";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import { asRecord, type Fields, filledString, listOf } from "@pagurus/core/data/record-fields";

const RESULT_TYPES = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "tool_search_output",
]);

/** Openings of user-role texts that Codex writes before the first turn, when the folder changes, after an interrupt. */
const HOST_CONTEXT = [
  "<environment_context>",
  "<user_instructions>",
  "<permissions instructions>",
  "# AGENTS.md instructions",
  "<turn_aborted>",
];
/** Tags around whole developer messages of Codex itself; any other is the key of a fragment. */
const DEVELOPER_TAG =
  /^(?:.*[ _]instructions|instructions|environment_context|collaboration_mode|personality_spec|model_switch|multi_agent.*|realtime.*|app-context|turn_aborted)$/;
/** Prefix of the part names in newer versions; older ones have none. */
const ADDITIONAL = "additional_content.";
const NAMELESS_KIND = "unknown";

/** Opening of the summary that replaces a compacted conversation. */
const SUMMARY_OPENING = "Another language model started to solve this problem";

export function isResult(payload: Fields): boolean {
  return RESULT_TYPES.has(filledString(payload["type"]) ?? "");
}

/** An output without a call: additional context, as Codex shows it under `untrusted_as_tool_output`. */
export function fragmentOutput(payload: Fields): FragmentNote | undefined {
  const { call_id: callId, namespace, name, output } = payload;
  if (callId !== undefined || namespace !== "agent" || typeof output !== "string") return undefined;
  const key = filledString(name) ?? "context";
  return fragmentNote(key, "untrusted", `<external_${key}>${output}</external_${key}>`);
}

/**
 * Author of a user-role or developer-role message: `user`, a fragment of additional context, or `context`, which this host writes itself.
 */
export function whoseWords(
  payload: Fields,
  content: string | readonly (TextPart | ImagePart)[],
): "user" | "context" | FragmentNote {
  const kinds = kindsOf(payload);
  const [kind] = kinds;
  const isUser = payload["role"] === "user";
  if (kind !== undefined && kinds.every((each) => each !== NAMELESS_KIND)) {
    if (kind.startsWith(ADDITIONAL))
      return taggedFragment(content, kind.slice(ADDITIONAL.length)) ?? "context";
    return isUser && kinds.some((each) => each.startsWith("user.")) ? "user" : "context";
  }
  const fragment = taggedFragment(content);
  if (fragment && (isUser ? fragment.kind === "untrusted" : !DEVELOPER_TAG.test(fragment.key)))
    return fragment;
  return isUser && !isHostContext(content) ? "user" : "context";
}

function kindsOf(payload: Fields): string[] {
  const metadata = asRecord(payload["internal_chat_message_metadata_passthrough"]);
  return listOf(metadata?.["content_item_kinds"]).filter((kind) => typeof kind === "string");
}

/** A message that consists of one text between a tag and its end. */
function taggedFragment(
  content: string | readonly (TextPart | ImagePart)[],
  named?: string,
): FragmentNote | undefined {
  if (typeof content !== "string") return undefined;
  const tag = named === undefined ? /^<([^<>\n]{1,200})>/.exec(content)?.[1] : tagOf(content, named);
  if (tag === undefined || !content.startsWith(`<${tag}>`) || !content.endsWith(`</${tag}>`))
    return undefined;
  const untrusted = tag.startsWith(EXTERNAL) && tag !== named;
  return untrusted
    ? fragmentNote(tag.slice(EXTERNAL.length), "untrusted", content)
    : fragmentNote(tag, "application", content);
}

const EXTERNAL = "external_";

function tagOf(content: string, key: string): string {
  return content.startsWith(`<${EXTERNAL}${key}>`) ? EXTERNAL + key : key;
}

/** Its mark matches no other: current fragments are injected again, as Codex does after a restart. */
export function fragmentNote(key: string, kind: FragmentNote["kind"], text: string): FragmentNote {
  return { key, kind, mark: `imported:${hash("sha1", text, "hex")}`, text, place: "next" };
}

/** The answer to Codex's own summary request, which the line `compacted` repeats. */
export function isCompactionOutput(line: Fields): boolean {
  return asRecord(line["metadata"])?.["compaction_output"] === true;
}

/** Id of the call that an event reports as failed; the call's output does not. */
export function failedCall(event: Fields): string | undefined {
  const item = event["type"] === "item_completed" ? asRecord(event["item"]) : undefined;
  return item?.["status"] === "failed" || item?.["status"] === "declined"
    ? filledString(item["id"])
    : undefined;
}

/** True for context that this host writes itself. */
function isHostContext(content: string | readonly (TextPart | ImagePart)[]): boolean {
  const texts =
    typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : ""));
  return (
    texts.length > 0 &&
    texts.every((text) => HOST_CONTEXT.some((opening) => text.trimStart().startsWith(opening)))
  );
}

/** The summary of a compaction; undefined when only the provider can read it. */
export function compactedText(payload: Fields): string | undefined {
  const summary = filledString(payload["message"]);
  if (summary !== undefined) return summary;
  const texts = listOf(payload["replacement_history"]).flatMap((value) => {
    const item = asRecord(asRecord(value)?.["item"]) ?? asRecord(value);
    if (item?.["role"] !== "user") return [];
    return listOf(item["content"]).flatMap((part) => filledString(asRecord(part)?.["text"]) ?? []);
  });
  return texts.findLast((text) => text.startsWith(SUMMARY_OPENING));
}
