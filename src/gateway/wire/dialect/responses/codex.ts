/**
 * What Codex tells of itself in a request: whose turn it is, and which elements are its own and no user's words. Each rule is
 * from recorded requests of Codex 0.169.0 (`test/gateway/wire/recorded`).
 */
import type { ItemFields } from "../../../../responses/items.ts";
import { itemParts } from "../../../../responses/items.ts";
import { fieldsOf, parsedFields, textOf } from "../../json/fields.ts";
import type { WireHeaders } from "../dialect.ts";

/** Sources of threads that are conversations; others ask for a title, a memory, a review. */
const CONVERSATIONS: ReadonlySet<string> = new Set(["", "user", "subagent"]);
const TURN_METADATA = "x-codex-turn-metadata";

export interface CodexTurn {
  threadId?: string;
  turnId?: string;
  window?: string;
  /** "turn", "compaction" and others. */
  requestKind?: string;
  /** A subagent or a review asks. */
  isSubagent: boolean;
  /** Something asks that is no conversation: a title is wanted. */
  isAside: boolean;
  /** Of a compaction. */
  trigger?: string;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** `clientMetadata` is the body's; undefined for a request that is not Codex's. */
export function codexTurn(headers: WireHeaders, clientMetadata: () => unknown): CodexTurn | undefined {
  const told = headers[TURN_METADATA] ?? fieldsOf(clientMetadata())[TURN_METADATA];
  const metadata = parsedFields(textOf(told)) ?? {};
  const requestKind = text(metadata["request_kind"]);
  if (requestKind === undefined) return undefined;
  const threadId = text(metadata["thread_id"]);
  const turnId = text(metadata["turn_id"]);
  const window = text(metadata["window_id"]);
  const trigger = text(fieldsOf(metadata["compaction"])["trigger"]);
  return {
    requestKind,
    isSubagent: isSubagent(headers, metadata),
    isAside: !CONVERSATIONS.has(textOf(metadata["thread_source"])),
    ...(threadId === undefined ? {} : { threadId }),
    ...(turnId === undefined ? {} : { turnId }),
    ...(window === undefined ? {} : { window }),
    ...(trigger === undefined ? {} : { trigger }),
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

/** The part of an id that grows with time (a UUID of version 7); undefined for others. */
export function timedId(id: string | undefined): string | undefined {
  return id === undefined ? undefined : TIMED_ID.exec(id)?.[0];
}

/** Texts that Codex says in the user's role. */
const OWN_TEXTS: readonly RegExp[] = [
  /^# AGENTS\.md instructions[\s\S]*<\/INSTRUCTIONS>\s*$/,
  /^<(environment_context|skill|turn_aborted)>[\s\S]*<\/\1>\s*$/,
];
const OWN_KIND = /\.(?:instructions|environment_context)$/;

/** How such a text begins in the bytes; what has none of these is not looked at. */
export const OWN_STARTS = [
  '"# AGENTS.md instructions',
  '"<environment_context>',
  '"<skill>',
  '"<turn_aborted>',
];

/** OpenAI's own endpoint is told of each part of a message what it is. */
export const MESSAGE_METADATA = "internal_chat_message_metadata_passthrough";

/** Whether a message is Codex's own, as Codex says; undefined where it does not. */
export function isOwnBySaying(metadata: unknown): boolean | undefined {
  const told = fieldsOf(metadata)["content_item_kinds"];
  const kinds = Array.isArray(told) ? told.filter((kind) => typeof kind === "string") : [];
  if (kinds.some((kind) => kind.startsWith("user."))) return false;
  return kinds.length > 0 && kinds.every((kind) => OWN_KIND.test(kind)) ? true : undefined;
}

/** The message is Codex's own: its surroundings, its rules, a skill, a mark of an interrupted turn. */
export function isOwnByWords(item: ItemFields): boolean {
  const texts = messageTexts(item);
  return texts.length > 0 && texts.every((said) => OWN_TEXTS.some((own) => own.test(said)));
}

function messageTexts(item: ItemFields): string[] {
  const { content } = item as { content?: unknown };
  if (typeof content === "string") return [content];
  return itemParts(content).map((part) => text(part["text"]) ?? "");
}

/** What Codex puts before the summary that its compaction was answered with. */
export const SUMMARY_INTRODUCTION =
  "Another language model started to solve this problem and produced a summary of its thinking process. You also have access to the state of the tools that were used by that language model. Use this to build on the work that has already been done and avoid duplicating work. Here is the summary produced by the other language model, use the information in this summary to assist with your own analysis:";

/** How such a message begins in the bytes. */
export const SUMMARY_START = `"${SUMMARY_INTRODUCTION.slice(0, 100)}`;

/** The message is what Codex's compaction left of the conversation. */
export function isSummary(item: ItemFields): boolean {
  return messageTexts(item)[0]?.startsWith(SUMMARY_INTRODUCTION) === true;
}
