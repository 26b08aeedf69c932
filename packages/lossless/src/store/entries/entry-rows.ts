/** Rows of entries, and their conversion for callers. */
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { StoreDamage } from "../damage.ts";
import { parseTemplate, type Source } from "./template.ts";
import type { EntryInfo, EntryKind, Role, StoredEntry } from "../store-types.ts";

export interface EntryRow {
  num: number;
  id: string;
  kind: number;
  tokens: number;
  total: number;
  time: number;
  turn: string | null;
  supersedes: string | null;
  body: string;
  /** Checksum of the row (`sums.ts`). */
  sum: number;
}

/** Codes of the column `kind`; messages have one for each role. Never reorder them: they are stored in databases. */
const CODES: readonly { kind: EntryKind; role?: Role }[] = [
  { kind: "message", role: "user" },
  { kind: "message", role: "assistant" },
  { kind: "message", role: "toolResult" },
  { kind: "compaction" },
  { kind: "custom" },
  { kind: "custom_message" },
  { kind: "model_change" },
  { kind: "session_info" },
  { kind: "turn_commit" },
  { kind: "rewind" },
];

/** Code of a compaction in that list. */
export const COMPACTION = 3;
const CUSTOM = CODES.findIndex(({ kind }) => kind === "custom");

/**
 * Code of an entry. A type from a later version counts as one that no model sees, and is stored completely. Throws
 * `import_invalid` for a role that the contract does not have.
 */
export function codeOf(entry: TranscriptEntry): number {
  const role = entry.type === "message" ? entry.message.role : undefined;
  const code = CODES.findIndex((known) => known.kind === entry.type && known.role === role);
  if (code >= 0) return code;
  if (entry.type !== "message") return CUSTOM;
  throw new PagurusError(
    "import_invalid",
    `The message ${entry.id} has a role that this version does not know; update Pagurus.`,
    { details: { entryId: entry.id } },
  );
}

export function codesOf(kinds: readonly EntryKind[]): ReadonlySet<number> {
  return new Set(CODES.flatMap(({ kind }, code) => (kinds.includes(kind) ? [code] : [])));
}

export function kindOf(code: number): { kind: EntryKind; role?: Role } {
  return CODES[code] ?? { kind: "custom" };
}

export function infoOf(row: EntryRow, position: number): EntryInfo {
  const { kind, role } = kindOf(row.kind);
  const info: EntryInfo = {
    entryId: row.id,
    kind,
    tokens: row.tokens,
    tokensUpTo: row.total,
    position,
    time: row.time,
  };
  if (role !== undefined) info.role = role;
  if (row.turn !== null) info.turnId = row.turn;
  if (row.supersedes !== null) info.supersedes = row.supersedes;
  return info;
}

/** The part of an entry that is stored as a template: of a message entry only the message. */
export function templatePart(entry: TranscriptEntry): object {
  if (entry.type !== "message") return entry;
  // The host adds the entry's id to messages that it returns; the transcript has none.
  if (entry.message.entryId === undefined) return entry.message;
  const { entryId: _, ...message } = entry.message;
  return message;
}

/** The value that a template was cut from. Throws `StoreDamage` for an invalid template. */
export function valueOf(template: string, source: Source): unknown {
  try {
    return parseTemplate(template, source);
  } catch (error) {
    if (error instanceof SyntaxError) throw new StoreDamage("A template is not what was stored.");
    throw error;
  }
}

export function entryOf(row: EntryRow, position: number, source: Source): StoredEntry {
  const entry: StoredEntry = infoOf(row, position);
  const value = valueOf(row.body, source);
  if (entry.kind === "message") entry.message = value as AgentMessage;
  else entry.entry = value as TranscriptEntry;
  return entry;
}
