/**
 * What Codex states about itself in a request: whose turn it is, and which elements are its own and not the user's. Each rule is
 * from recorded requests of Codex 0.169.0 (`test/gateway/recorded`).
 */
import { filledString, parseRecord, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { ItemFields } from "@pagurus/core/protocols/responses/responses-items";
import { itemParts } from "@pagurus/core/protocols/responses/responses-items";
import type { WireHeaders } from "../wire-dialect.ts";
import { defined } from "@pagurus/core/data/defined";

/** Sources of threads that are conversations; others are for a title, a memory or a review. */
const CONVERSATIONS: ReadonlySet<string> = new Set(["", "user", "subagent"]);
const TURN_METADATA = "x-codex-turn-metadata";

export interface CodexTurn {
  threadId?: string;
  turnId?: string;
  window?: string;
  /** "turn", "compaction" and others. */
  requestKind?: string;
  /** The request is from a subagent or a review. */
  isSubagent: boolean;
  /** The request is for something outside the conversation, such as a title. */
  isAside: boolean;
  /** Trigger of a compaction. */
  trigger?: string;
}

/** `clientMetadata` is the body's; undefined for a request that is not from Codex. */
export function codexTurn(headers: WireHeaders, clientMetadata: () => unknown): CodexTurn | undefined {
  const raw = headers[TURN_METADATA] ?? recordOf(clientMetadata())[TURN_METADATA];
  const metadata = parseRecord(stringOf(raw)) ?? {};
  const requestKind = filledString(metadata["request_kind"]);
  if (requestKind === undefined) return undefined;
  const threadId = filledString(metadata["thread_id"]);
  const turnId = filledString(metadata["turn_id"]);
  const window = filledString(metadata["window_id"]);
  const trigger = filledString(recordOf(metadata["compaction"])["trigger"]);
  return {
    requestKind,
    isSubagent: isSubagent(headers, metadata),
    isAside: !CONVERSATIONS.has(stringOf(metadata["thread_source"])),
    ...defined({ threadId, turnId, window, trigger }),
  };
}

function isSubagent(headers: WireHeaders, metadata: ItemFields): boolean {
  return (
    headers["x-openai-subagent"] !== undefined ||
    metadata["subagent_kind"] !== undefined ||
    metadata["parent_thread_id"] !== undefined ||
    metadata["thread_source"] === "subagent"
  );
}

const TIMED_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The time part of an id (a UUID of version 7); undefined for others. */
export function timedId(id: string | undefined): string | undefined {
  return id === undefined ? undefined : TIMED_ID.exec(id)?.[0];
}

/** Texts that Codex sends in the user's role. */
const OWN_TEXTS: readonly RegExp[] = [
  /^# AGENTS\.md instructions[\s\S]*<\/INSTRUCTIONS>\s*$/,
  /^<(environment_context|skill|turn_aborted)>[\s\S]*<\/\1>\s*$/,
];
const OWN_KIND = /\.(?:instructions|environment_context)$/;

/** How such a text begins in the bytes; a message without one of these is not parsed. */
export const OWN_STARTS = [
  '"# AGENTS.md instructions',
  '"<environment_context>',
  '"<skill>',
  '"<turn_aborted>',
];

/** OpenAI's own endpoint gets the kind of each part of a message in this field. */
export const MESSAGE_METADATA = "internal_chat_message_metadata_passthrough";

/** Whether a message is Codex's own, by its metadata; undefined without such metadata. */
export function isOwnByMetadata(metadata: unknown): boolean | undefined {
  const listed = recordOf(metadata)["content_item_kinds"];
  const kinds = Array.isArray(listed) ? listed.filter((kind) => typeof kind === "string") : [];
  if (kinds.some((kind) => kind.startsWith("user."))) return false;
  return kinds.length > 0 && kinds.every((kind) => OWN_KIND.test(kind)) ? true : undefined;
}

/** Whether a message is Codex's own, by its text: its surroundings, rules, a skill, the mark of an interrupted turn. */
export function isOwnByText(item: ItemFields): boolean {
  const texts = messageTexts(item);
  return texts.length > 0 && texts.every((text) => OWN_TEXTS.some((own) => own.test(text)));
}

function messageTexts(item: ItemFields): string[] {
  const { content } = item as { content?: unknown };
  if (typeof content === "string") return [content];
  return itemParts(content).map((part) => filledString(part["text"]) ?? "");
}

/** What Codex puts before the summary that its compaction returned. */
export const SUMMARY_INTRODUCTION =
  "Another language model started to solve this problem and produced a summary of its thinking process. You also have access to the state of the tools that were used by that language model. Use this to build on the work that has already been done and avoid duplicating work. Here is the summary produced by the other language model, use the information in this summary to assist with your own analysis:";

/** How such a message begins in the bytes. */
export const SUMMARY_START = `"${SUMMARY_INTRODUCTION.slice(0, 100)}`;

/** Whether the message is the summary that Codex's compaction left of the conversation. */
export function isSummary(item: ItemFields): boolean {
  return messageTexts(item)[0]?.startsWith(SUMMARY_INTRODUCTION) === true;
}
