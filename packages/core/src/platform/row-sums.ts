/**
 * Checksums of SQLite rows. SQLite does not detect a corrupt byte inside a value; a column `sum` with a checksum over the
 * others does. Triggers update it where rows change, with the SQL function `rowsum`.
 */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { crc32 } from "node:zlib";

/** A column's value; no table with sums has blobs. */
type Value = SQLOutputValue;

export interface SummedTable {
  columns: readonly string[];
  /** Key columns of a row. */
  key: readonly string[];
}

/** Checksum of values in their order. */
export function rowSum(...values: readonly Value[]): number {
  let text = "";
  for (const value of values) text += typeof value === "object" ? "\u0000" : `${value}\n`;
  return crc32(text);
}

/** Registers `rowsum` on a connection; needed by each one that writes to such a table. */
export function registerRowSum(db: DatabaseSync): void {
  db.function("rowsum", { deterministic: true, varargs: true }, rowSum);
}

/** False for a corrupt row. */
export function isAsStored({ columns }: SummedTable, row: object): boolean {
  const fields = row as Record<string, Value | undefined>;
  return rowSum(...columns.map((name) => fields[name] ?? null)) === fields["sum"];
}

/** SQL of the triggers that update the sums of a table. */
export function sumTriggers(table: string, { columns, key }: SummedTable): string {
  const where = key.map((name) => `${name} = NEW.${name}`).join(" AND ");
  const values = columns.map((name) => `NEW.${name}`).join(", ");
  const set = `BEGIN UPDATE ${table} SET sum = rowsum(${values}) WHERE ${where}; END;`;
  return `CREATE TRIGGER ${table}_added AFTER INSERT ON ${table} ${set}
CREATE TRIGGER ${table}_changed AFTER UPDATE OF ${columns.join(", ")} ON ${table} ${set}
`;
}
