/**
 * Texts that are stored and not indexed yet. They are those from one number on, which stands in `meta` while there are
 * any: a bulk is stored first and indexed behind it, and whoever comes to it goes on.
 */
import type { Db } from "./db.ts";

const FROM = "unindexed_from";
/** There while the index has many segments. */
const UNMERGED = "unmerged";
/** Bytes of texts that are indexed in one transaction. */
const BYTES = 500_000;
/** Texts between two looks at who waits. */
const CHECK_EVERY = 16;

/** First text that is not indexed; infinite when all are. */
export function unindexedFrom(db: Db): number {
  const value = db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", FROM)?.value;
  return value === undefined ? Infinity : Number(value);
}

/**
 * Leaves everything from this text on to `indexSome`. Call in the transaction that adds it, when it is less than
 * `unindexedFrom`: then it is the newest text, and its number was another's that is gone.
 */
export function leaveFrom(db: Db, num: number): void {
  db.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", FROM, String(num));
}

/**
 * One text a statement: before each one that writes several rows, FTS5 makes a segment of what it has collected, in case
 * the statement fails.
 */
const INDEX = "INSERT INTO words (rowid, body) VALUES (?1, (SELECT body FROM indexed_texts WHERE num = ?1))";

/**
 * Indexes the oldest texts that wait, so many of them at most, in a transaction of its own; false when none is left.
 * `isEnough` is asked between some texts and the next: others wait for the transaction's end.
 */
export function indexSome(db: Db, limit: number, isEnough: () => boolean = () => false): boolean {
  if (unindexedFrom(db) === Infinity) return false;
  return db.transaction(() => {
    let from = unindexedFrom(db);
    if (from === Infinity) return false;
    let [texts, bytes] = [0, 0];
    for (const { num, size } of waiting(db, from, limit)) {
      db.run(INDEX, num);
      from = num + 1;
      texts += 1;
      bytes += size;
      if (bytes >= BYTES || (texts % CHECK_EVERY === 0 && isEnough())) break;
    }
    if (texts > 0) leaveFrom(db, from);
    else db.run("DELETE FROM meta WHERE name = ?", FROM);
    return texts > 0;
  });
}

function waiting(db: Db, from: number, limit: number): { num: number; size: number }[] {
  return db.all(
    "SELECT num, octet_length(body) AS size FROM texts WHERE num >= ? ORDER BY num LIMIT ?",
    from,
    limit,
  );
}

/** How much waits, counted up to a limit of texts. */
export function pendingSize(db: Db, limit: number): { texts: number; bytes: number } {
  const from = unindexedFrom(db);
  if (from === Infinity) return { texts: 0, bytes: 0 };
  const row = db.get<{ texts: number; bytes: number | null }>(
    "SELECT count(*) AS texts, sum(size) AS bytes FROM (SELECT octet_length(body) AS size FROM texts WHERE num >= ? LIMIT ?)",
    from,
    limit,
  );
  return { texts: row?.texts ?? 0, bytes: row?.bytes ?? 0 };
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

export function markUnmerged(db: Db): void {
  if (!isUnmerged(db)) db.run("INSERT OR IGNORE INTO meta (name, value) VALUES (?, '1')", UNMERGED);
}

export function markMerged(db: Db): void {
  if (isUnmerged(db)) db.run("DELETE FROM meta WHERE name = ?", UNMERGED);
}

/** Merging was not finished: a search reads more segments than it has to. */
export function isUnmerged(db: Db): boolean {
  return db.get("SELECT 1 FROM meta WHERE name = ?", UNMERGED) !== undefined;
}

function totalChanges(db: Db): number {
  return db.get<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
}
