/**
 * Checksums of the rows that decide what a model sees. `entries` get theirs when they are stored (they never change), the
 * small tables by triggers. Texts and payloads have their lookup hash.
 */
import { isAsStored, rowSum, sumTriggers } from "@pagurus/core/platform/row-sums";
import { StoreDamage } from "./damage.ts";
import type { EntryRow } from "./entries/entry-rows.ts";

const NODE_COLUMNS =
  "num id session kind depth first last body tokens source_tokens origin model state details".split(" ");

/** Tables with triggers. */
const TABLES = {
  sessions: { columns: ["num", "id", "key", "leaf", "adopted", "state"], key: ["num"] },
  segments: { columns: ["num", "tree", "parent", "base", "length"], key: ["num"] },
  nodes: { columns: NODE_COLUMNS, key: ["num"] },
  frontiers: { columns: ["session", "version", "first_kept", "details"], key: ["session"] },
  pins: { columns: ["session", "id", "at", "note"], key: ["session", "id"] },
} as const;

/** Returns the row when its checksum matches. Throws `StoreDamage`. */
export function checkedEntry(row: EntryRow): EntryRow {
  const { sum, num, id, kind, tokens, total, time, turn, supersedes, body } = row;
  if (rowSum(num, id, kind, tokens, total, time, turn, supersedes, body) === sum) return row;
  throw new StoreDamage(`The row of the entry at ${num} is not what was stored.`);
}

/** As `checkedEntry`, for a row with all columns of a table. */
export function checkedRow<Row extends object>(table: keyof typeof TABLES, row: Row): Row {
  if (isAsStored(TABLES[table], row)) return row;
  throw new StoreDamage(`A row of the table ${table} is not what was stored.`);
}

export function storeTriggers(): string {
  return Object.entries(TABLES)
    .map(([name, table]) => sumTriggers(name, table))
    .join("");
}
