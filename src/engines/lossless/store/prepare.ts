/** What storing an entry takes before the database is asked: tokens counted, words cut out, hashes made. */
import type { AgentMessage } from "../../../contract/message.ts";
import type { TranscriptEntry } from "../../../contract/transcript.ts";
import { messageTokens } from "../../../tokens/messages.ts";
import { cut, type Cutting } from "./cutting.ts";
import { codeOf, kept } from "./rows.ts";

/** An entry ready to be written; can be sent to another thread. */
export interface PreparedEntry {
  id: string;
  parentId: string | null;
  /** Of the column `kind`. */
  code: number;
  tokens: number;
  time: number;
  turnId: string | null;
  supersedes: string | null;
  /** The part that is kept as a template. */
  cutting: Cutting;
}

/** Moves the leaf; nothing of it is stored. */
export interface PreparedRewind {
  rewindTo: string | null;
}

export type Prepared = PreparedEntry | PreparedRewind;

/** An entry that takes too long to be prepared on the main thread. */
export interface Raw {
  raw: TranscriptEntry;
}

/** Characters of an entry from which on it is large; larger ones are felt. */
const LARGE = 100_000;

/** Prepared, or as it is where it is large. Throws `import_invalid` as `prepare`. */
export function prepareSmall(entry: TranscriptEntry): Prepared | Raw {
  return sizeOf(entry) < LARGE ? prepare(entry) : { raw: entry };
}

/** What `prepareSmall` has left. */
export function prepareRest(entry: Prepared | Raw): Prepared {
  return "raw" in entry ? prepare(entry.raw) : entry;
}

/** Rough number of characters, without making the JSON. */
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

/** What a transcript of another program holds need not have the shape that the contract names. */
function stringsSize(value: object | null | undefined): number {
  let size = 0;
  for (const item of Object.values(value ?? {})) if (typeof item === "string") size += item.length;
  return size;
}

/** Only what a model would see counts. */
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

/** Throws `import_invalid` for a role that the contract does not have. */
export function prepare(entry: TranscriptEntry): Prepared {
  if (entry.type === "rewind") return { rewindTo: entry.targetId };
  return {
    id: entry.id,
    parentId: entry.parentId,
    code: codeOf(entry),
    tokens: tokensOf(entry),
    time: timeOf(entry),
    turnId: entry.turnId ?? null,
    supersedes: entry.type === "message" ? (entry.supersedes ?? null) : null,
    cutting: cut(kept(entry)),
  };
}
