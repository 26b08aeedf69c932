/**
 * Texts that are stored and not indexed yet. They are those from one number on, which stands in `meta` while there are
 * any: a bulk is stored first and indexed behind it, and whoever comes to it goes on.
 */
import type { Db } from "./db.ts";

const FROM = "unindexed_from";

/** First text that is not indexed; infinite when all are. */
export function unindexedFrom(db: Db): number {
  const value = db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", FROM)?.value;
  return value === undefined ? Infinity : Number(value);
}

/** Leaves everything from this text on to `indexSome`. Call in the transaction that adds it. */
export function leaveFrom(db: Db, num: number): void {
  db.run("INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)", FROM, String(num));
}

/** Indexes the oldest texts that wait, in a transaction of its own; false when none is left. */
export function indexSome(db: Db, limit: number): boolean {
  if (unindexedFrom(db) === Infinity) return false;
  return db.transaction(() => {
    const from = unindexedFrom(db);
    if (from === Infinity) return false;
    const last = db.get<{ num: number | null }>(
      "SELECT max(num) AS num FROM (SELECT num FROM texts WHERE num >= ? ORDER BY num LIMIT ?)",
      from,
      limit,
    )?.num;
    if (typeof last !== "number") {
      db.run("DELETE FROM meta WHERE name = ?", FROM);
      return false;
    }
    db.run(
      "INSERT INTO words (rowid, body) SELECT num, body FROM indexed_texts WHERE num BETWEEN ? AND ?",
      from,
      last,
    );
    db.run("UPDATE meta SET value = ? WHERE name = ?", String(last + 1), FROM);
    return true;
  });
}

/**
 * One step of merging the index's segments, in a transaction of its own; false when there is nothing to merge. Negative
 * `pages` start a merge of everything into one segment.
 */
export function mergeIndex(db: Db, pages: number): boolean {
  const before = totalChanges(db);
  db.run("INSERT INTO words (words, rank) VALUES ('merge', ?)", pages);
  // The command itself is one change.
  return totalChanges(db) - before > 1;
}

function totalChanges(db: Db): number {
  return db.get<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
}
