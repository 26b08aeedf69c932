/**
 * Backlog of texts that are stored but not indexed yet: all from one number on, which `meta` has while there are any.
 * Bulk writes are stored first and indexed afterwards, by any process that uses the store.
 */
import type { Database } from "@pagurus/core/data/sqlite";

const UNINDEXED_FROM = "unindexed_from";
/** Name in `meta` that is present while the index has many segments. */
const UNMERGED = "unmerged";
/** Bytes of texts that are indexed in one transaction. */
const BYTES = 500_000;
/** Texts between two checks whether another thread waits. */
const CHECK_EVERY = 16;

/** First text that is not indexed; `Infinity` when all are. */
export function unindexedFrom(db: Database): number {
  const value = db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", UNINDEXED_FROM)?.value;
  return value === undefined ? Infinity : Number(value);
}

/**
 * Moves the start of the backlog to this text. Call in the transaction that adds it, when it is less than
 * `unindexedFrom`: then it is the newest text and reuses the number of a deleted one.
 */
export function leaveFrom(db: Database, num: number): void {
  db.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", UNINDEXED_FROM, String(num));
}

/**
 * One text per statement: before a statement that writes several rows, FTS5 flushes its collected terms into a segment,
 * in case the statement fails.
 */
const INDEX_PENDING =
  "INSERT INTO words (rowid, body) VALUES (?1, (SELECT body FROM indexed_texts WHERE num = ?1))";

/**
 * Indexes up to `limit` of the oldest pending texts in one transaction; false when none is left. `isEnough` is checked
 * between texts, since others wait for the transaction's end.
 */
export function indexSome(db: Database, limit: number, isEnough: () => boolean = () => false): boolean {
  if (unindexedFrom(db) === Infinity) return false;
  return db.transaction(() => {
    let from = unindexedFrom(db);
    if (from === Infinity) return false;
    let [texts, bytes] = [0, 0];
    for (const { num, size } of waiting(db, from, limit)) {
      db.run(INDEX_PENDING, num);
      from = num + 1;
      texts += 1;
      bytes += size;
      if (bytes >= BYTES || (texts % CHECK_EVERY === 0 && isEnough())) break;
    }
    if (texts > 0) leaveFrom(db, from);
    else db.run("DELETE FROM meta WHERE name = ?", UNINDEXED_FROM);
    return texts > 0;
  });
}

function waiting(db: Database, from: number, limit: number): { num: number; size: number }[] {
  return db.all(
    "SELECT num, octet_length(body) AS size FROM texts WHERE num >= ? ORDER BY num LIMIT ?",
    from,
    limit,
  );
}

/** Size of the backlog, counted up to a limit of texts. */
export function pendingSize(db: Database, limit: number): { texts: number; bytes: number } {
  const from = unindexedFrom(db);
  if (from === Infinity) return { texts: 0, bytes: 0 };
  const row = db.get<{ texts: number; bytes: number | null }>(
    "SELECT count(*) AS texts, sum(size) AS bytes FROM (SELECT octet_length(body) AS size FROM texts WHERE num >= ? LIMIT ?)",
    from,
    limit,
  );
  return { texts: row?.texts ?? 0, bytes: row?.bytes ?? 0 };
}

/** Whether all texts are indexed that are used at places below this one; texts of summaries count as such. */
export function isIndexedBelow(db: Database, place: number): boolean {
  const from = unindexedFrom(db);
  if (from === Infinity) return true;
  return db.get("SELECT 1 FROM uses WHERE text >= ? AND place < ? LIMIT 1", from, place) === undefined;
}

/** Segments of about the same size that are merged into one: while many texts come, and when there is time. */
export const FEWEST_MERGED = { hurried: 16, unhurried: 4 } as const;

/**
 * One step of merging the index's segments, in one transaction; false when there is nothing to merge. Negative
 * `pages` start a merge of everything into one segment. With a smaller `fewest` each word is written more often, and a search
 * reads fewer segments: each of them costs it 4 us a word, and common words more.
 */
export function mergeIndex(db: Database, pages: number, fewest: number = FEWEST_MERGED.hurried): boolean {
  const set = db.get<{ v: number }>("SELECT v FROM words_config WHERE k = 'usermerge'")?.v;
  if (set !== fewest)
    db.run("INSERT INTO words (words, rank) VALUES ('usermerge', CAST(? AS INTEGER))", fewest);
  const before = totalChanges(db);
  db.run("INSERT INTO words (words, rank) VALUES ('merge', ?)", pages);
  // The command itself counts as one change.
  return totalChanges(db) - before > 1;
}

export function markUnmerged(db: Database): void {
  if (!isUnmerged(db)) db.run("INSERT OR IGNORE INTO meta (name, value) VALUES (?, '1')", UNMERGED);
}

export function markMerged(db: Database): void {
  if (isUnmerged(db)) db.run("DELETE FROM meta WHERE name = ?", UNMERGED);
}

/** True when merging is unfinished, so that a search reads more segments than necessary. */
export function isUnmerged(db: Database): boolean {
  return db.get("SELECT 1 FROM meta WHERE name = ?", UNMERGED) !== undefined;
}

function totalChanges(db: Database): number {
  return db.get<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
}
