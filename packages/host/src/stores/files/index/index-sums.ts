/**
 * Checksums of the index rows that define a conversation: without them a changed byte would silently show another path, another session
 * under a key, or a turn that never ended. A row that differs triggers a rebuild of the index.
 */
import { isAsStored, rowSum, sumTriggers } from "@pagurus/core/platform/row-sums";

/** The index contains data that was not stored in it. */
export class IndexDamage extends Error {
  override readonly name = "IndexDamage";
}

const SESSION_COLUMNS =
  `num id key cwd created updated name entries bytes header_length header_hash last_offset
  last_length last_hash leaf_id leaf_end epoch words_bytes lines leaf_messages generation precedence
  folder title`.split(/\s+/);

const TABLES = {
  sessions: { columns: SESSION_COLUMNS, key: ["num"] },
  segments: { columns: ["session", "start", "end", "parent_end"], key: ["session", "start"] },
  turns: {
    columns: ["session", "turn", "start", "commit_end", "unfinalized", "moved"],
    key: ["session", "turn"],
  },
} as const;

/** A row of `entries`, which never changes. */
export interface StoredEntryRow {
  session: number;
  id: string;
  offset: number;
  length: number;
  type: string;
  /** For a rewind: the end of its target entry. */
  jump: number | null;
  /** Number of the line; 1 for the first after the header. */
  line: number;
  /** Messages before it on its branch. */
  messages: number;
}

export function indexTriggers(): string {
  return Object.entries(TABLES)
    .map(([name, table]) => sumTriggers(name, table))
    .join("");
}

/** The row, with all columns of its table, after its checksum was verified. Throws `IndexDamage`. */
export function checked<Row extends object>(table: keyof typeof TABLES, row: Row): Row {
  if (isAsStored(TABLES[table], row)) return row;
  throw new IndexDamage(`A row of ${table} is not what was stored.`);
}

/** The checksum of an entry, without its number. */
export function entrySum(row: StoredEntryRow): number {
  return rowSum(row.session, row.id, row.offset, row.length, row.type, row.jump, row.line, row.messages);
}

export function checkedEntry<Row extends StoredEntryRow & { sum: number }>(row: Row): Row {
  if (entrySum(row) === row.sum) return row;
  throw new IndexDamage(`The row of the entry at ${row.offset} is not what was stored.`);
}
