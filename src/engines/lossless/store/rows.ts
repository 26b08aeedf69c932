/** Rows of entries, and what callers see of them. */
import { PagurusError } from "../../../contract/errors.ts";
import type { AgentMessage } from "../../../contract/message.ts";
import type { TranscriptEntry } from "../../../contract/transcript.ts";
import { parseTemplate, type Source } from "./template.ts";
import type { EntryInfo, EntryKind, Role, StoredEntry } from "./types.ts";

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
}

/** Codes of the column `kind`; messages have one for each role. Never reordered: they are on people's disks. */
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

const CUSTOM = CODES.findIndex(({ kind }) => kind === "custom");

/**
 * An entry of a type that a later version has written counts as one that no model sees, and is kept whole. Throws
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

/** The part of an entry that is kept as a template: of a message only the message. */
export function kept(entry: TranscriptEntry): object {
  if (entry.type !== "message") return entry;
  // The host adds the entry's id to messages that it hands out; the transcript has none.
  if (entry.message.entryId === undefined) return entry.message;
  const { entryId: _, ...message } = entry.message;
  return message;
}

export function entryOf(row: EntryRow, position: number, source: Source): StoredEntry {
  const entry: StoredEntry = infoOf(row, position);
  const value = parseTemplate(row.body, source);
  if (entry.kind === "message") entry.message = value as AgentMessage;
  else entry.entry = value as TranscriptEntry;
  return entry;
}
