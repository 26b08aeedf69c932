/**
 * The full text index in tables of a bounded number of records. A search for common words reads the newest table only, and how often a
 * word is there is counted in one table, never in all; a table that is complete is packed once and not changed any more.
 */
import type { Database } from "@pagurus/core/data/sqlite";

/** Records of a table, as a power of two. */
const SHARD = 2 ** 15;
/**
 * The first records of a table are in the one before too, which answers for them until there are this many: how rare a word is cannot be
 * known from a few records.
 */
const OVERLAP = 2 ** 10;
/** Bytes of words that are held in memory before they become a part of a table. */
const HELD_BYTES = 16 * 1024 * 1024;

/** Numbers of records that one table answers for: from `from` to before `to`. */
export interface Shard {
  table: string;
  from: number;
  to: number;
}

function tableOf(shard: number): string {
  return `words_${shard}`;
}

/** The tables that answer for records up to `last`, the newest first. */
export function shardsUpTo(last: number, tables: ReadonlySet<string>): Shard[] {
  const newest = Math.floor(last / SHARD);
  const isShort = newest > 0 && last % SHARD < OVERLAP;
  return Array.from({ length: newest + (isShort ? 0 : 1) }, (_, shard) => ({
    table: tableOf(shard),
    from: shard * SHARD,
    to: isShort && shard === newest - 1 ? Infinity : (shard + 1) * SHARD,
  }))
    .filter(({ table }) => tables.has(table))
    .toReversed();
}

/** Names of the tables that exist. */
export function shardTables(db: Database): Set<string> {
  const rows = db.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'",
  );
  return new Set(rows.map(({ name }) => name));
}

/** Adds words to the tables. Call its members in a transaction. */
export class ShardWriter {
  readonly #db: Database;
  readonly #tables: Set<string>;

  constructor(db: Database) {
    this.#db = db;
    this.#tables = shardTables(db);
  }

  add(num: number, words: string): void {
    const shard = Math.floor(num / SHARD);
    this.#insert(shard, num, words);
    if (shard === 0 || num % SHARD >= OVERLAP) return;
    this.#insert(shard - 1, num, words);
    // No further record is added to it.
    if (num % SHARD === OVERLAP - 1)
      this.#db.run(`INSERT INTO ${tableOf(shard - 1)} (${tableOf(shard - 1)}) VALUES ('optimize')`);
  }

  #insert(shard: number, num: number, words: string): void {
    const table = tableOf(shard);
    if (!this.#tables.has(table)) this.#create(table);
    this.#db.run(`INSERT INTO ${table} (rowid, t) VALUES (?, ?)`, num, words);
  }

  #create(table: string): void {
    this.#db.raw.exec(
      `CREATE VIRTUAL TABLE ${table} USING fts5 (t, content = '', tokenize = "unicode61 remove_diacritics 2");
       INSERT INTO ${table} (${table}, rank) VALUES ('hashsize', ${HELD_BYTES})`,
    );
    this.#tables.add(table);
  }
}
