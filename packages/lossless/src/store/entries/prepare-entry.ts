/** Prepares entries for storing, without the database: counts tokens, cuts out texts, computes hashes. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { cut, type Cutting } from "./cutting.ts";
import { codeOf, templatePart } from "./entry-rows.ts";

/** An entry ready to be written; can be sent to another thread. */
export interface PreparedEntry {
  id: string;
  parentId: string | null;
  /** Value of the column `kind`. */
  code: number;
  tokens: number;
  time: number;
  turnId: string | null;
  supersedes: string | null;
  /** The part that is stored as a template. */
  cutting: Cutting;
}

/** Moves the leaf; the entry itself is not stored. */
export interface PreparedRewind {
  rewindTo: string | null;
}

export type Prepared = PreparedEntry | PreparedRewind;

/** An entry that takes too long to be prepared on the main thread. */
export interface Raw {
  raw: TranscriptEntry;
}

/** Size from which an entry is prepared in the worker. Characters. */
const LARGE_ENTRY = 100_000;

/** Prepares an entry unless it is large. Throws `import_invalid` as `prepareEntry`. */
export function prepareSmall(entry: TranscriptEntry): Prepared | Raw {
  return sizeOf(entry) < LARGE_ENTRY ? prepareEntry(entry) : { raw: entry };
}

/** Prepares an entry that `prepareSmall` left unchanged. */
export function prepareRest(entry: Prepared | Raw): Prepared {
  return "raw" in entry ? prepareEntry(entry.raw) : entry;
}

/** Approximate number of characters, without serializing. */
export function sizeOf(entry: TranscriptEntry): number {
  if (entry.type === "compaction") return entry.summary.length;
  if (entry.type !== "message") return 200;
  const { content } = entry.message;
  if (typeof content === "string") return content.length;
  let size = 200;
  for (const part of content)
    size += part.type === "toolCall" ? 500 + stringsSize(part.arguments) : stringsSize(part);
  return size;
}

/** Total length of the strings; another program's transcript may not have the contract's shape. */
function stringsSize(value: object | null | undefined): number {
  let size = 0;
  for (const item of Object.values(value ?? {})) if (typeof item === "string") size += item.length;
  return size;
}

/** Tokens of an entry; only content that a model would see counts. */
function tokensOf(entry: TranscriptEntry): number {
  if (entry.type === "message") return messageTokens(entry.message);
  if (entry.type !== "custom_message") return 0;
  const message: AgentMessage = { role: "user", content: entry.content };
  return messageTokens(message);
}

function timeOf(entry: TranscriptEntry): number {
  const time = Date.parse(entry.timestamp);
  return Number.isFinite(time) ? time : 0;
}

/** Prepares an entry. Throws `import_invalid` for a role that the contract does not have. */
export function prepareEntry(entry: TranscriptEntry): Prepared {
  if (entry.type === "rewind") return { rewindTo: entry.targetId };
  return {
    id: entry.id,
    parentId: entry.parentId,
    code: codeOf(entry),
    tokens: tokensOf(entry),
    time: timeOf(entry),
    turnId: entry.turnId ?? null,
    supersedes: entry.type === "message" ? (entry.supersedes ?? null) : null,
    cutting: cut(templatePart(entry)),
  };
}
