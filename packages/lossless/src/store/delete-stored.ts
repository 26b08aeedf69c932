/**
 * Deletes sessions, down to the bytes in the file. First the sessions are removed, in one step; then entries that no
 * session has, in slices; then the index and the file are rewritten. A mark in `meta` is set from the first step to the
 * last, so that the next process to open the store after a crash continues. Runs in the worker thread.
 */
import { rmSync } from "node:fs";
import { indexSome, mergeIndex } from "./search/backlog.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { nodePlace } from "./node-rows.ts";
import { damagedFiles } from "./open-database.ts";
import { placeOf, segmentOf } from "./entries/entry-place.ts";
import { getMeta, setMeta } from "./session-values.ts";
import { release, treeWord } from "./entries/texts.ts";
import { segmentRow, sessionRow, type SessionRow } from "./entries/entry-tree.ts";

/** Values of the mark. `rows`: entries without a session may exist. `index`: so may the extra word that forces a rewrite of the index. */
const SCRUB = "scrub";
/** Tables whose rows are of one session. */
const SESSION_TABLES = [
  "frontiers",
  "frontier_nodes",
  "debts",
  "leases",
  "spend",
  "pins",
  "members",
  "owed",
  "logs",
];
/** Entries per transaction. */
const SLICE = 200;
/** Pages of the index merged per step. */
const DELETED_MERGE_PAGES = 200;
/** Row number that no text has. */
const EXTRA_ROW = -1;
const CHECKPOINT_TRIES = 100;

export interface Forgotten {
  entries: number;
  texts: number;
}

export function needsScrub(db: Database): boolean {
  return getMeta(db, SCRUB) !== undefined;
}

/** Removes the sessions, so that no search finds them, and notes that their texts are still to be erased. */
export function dropSessions(db: Database, sessionIds: readonly string[]): void {
  const known = sessionIds.filter((id) => sessionRow(db, id) !== undefined);
  if (known.length === 0) return;
  db.transaction(() => {
    setMeta(db, SCRUB, "rows");
    for (const id of known) {
      const session = sessionRow(db, id);
      if (session) dropSession(db, session);
    }
  });
}

/** Deletes the sessions. `pause` is called between transactions. Throws SQLite's errors. */
export function forget(
  db: Database,
  file: string,
  sessionIds: readonly string[],
  pause: () => void,
): Forgotten {
  const before = counts(db);
  db.transaction(() => {
    setMeta(db, SCRUB, "rows");
    for (const id of sessionIds) {
      const session = sessionRow(db, id);
      if (session) dropSession(db, session);
    }
  });
  finishScrub(db, file, pause);
  const after = counts(db);
  return { entries: before.entries - after.entries, texts: before.texts - after.texts };
}

/** All steps after the first. */
export function finishScrub(db: Database, file: string, pause: () => void): void {
  if (!needsScrub(db)) return;
  while (indexSome(db, SLICE)) pause();
  for (const segment of orphanedSegments(db)) while (cutSlice(db, segment)) pause();
  rewriteIndex(db, pause);
  for (const damaged of damagedFiles(file)) rmSync(damaged, { force: true });
  db.raw.exec("VACUUM");
  for (let tries = 0; tries < CHECKPOINT_TRIES && !emptyLog(db); tries++) pause();
  db.transaction(() => db.run("DELETE FROM meta WHERE name = ?", SCRUB));
}

/** Empties the log; false while a reader still needs it. */
function emptyLog(db: Database): boolean {
  return db.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0;
}

function counts(db: Database): Forgotten {
  return (
    db.get<Forgotten>(
      "SELECT (SELECT count(*) FROM entries) AS entries, (SELECT count(*) FROM texts) AS texts",
    ) ?? { entries: 0, texts: 0 }
  );
}

function dropSession(db: Database, session: SessionRow): void {
  const bearing =
    "SELECT session FROM members WHERE segment IN (SELECT last / 4194304 FROM nodes WHERE session = ?) AND session <> ? LIMIT 1";
  const heir = db.get<{ session: number }>(bearing, session.num, session.num);
  // A fork inherits the summaries whose entries it has; the others are deleted with their entries.
  if (heir) db.run("UPDATE nodes SET session = ? WHERE session = ?", heir.session, session.num);
  for (const table of SESSION_TABLES) db.run(`DELETE FROM ${table} WHERE session = ?`, session.num);
  db.run("DELETE FROM sessions WHERE num = ?", session.num);
}

/** Chains whose end belongs to no session. */
function orphanedSegments(db: Database): number[] {
  return db
    .all<{ num: number }>(
      `SELECT num FROM segments
       WHERE length > coalesce((SELECT max(length) FROM members WHERE segment = segments.num), 0) ORDER BY num DESC`,
    )
    .map(({ num }) => num);
}

/** Removes a slice of trailing entries that no session has; false when none is left. */
function cutSlice(db: Database, segment: number): boolean {
  return db.transaction(() => {
    const row = segmentRow(db, segment);
    if (!row) return false;
    const kept =
      db.get<{ length: number | null }>(
        "SELECT max(length) AS length FROM members WHERE segment = ?",
        segment,
      )?.length ?? 0;
    const from = Math.max(kept, row.length - SLICE);
    if (from < row.length) cut(db, row.tree, placeOf(segment, from), placeOf(segment, row.length - 1));
    if (from === 0) db.run("DELETE FROM segments WHERE num = ?", segment);
    else db.run("UPDATE segments SET length = ? WHERE num = ?", from, segment);
    return from > kept;
  });
}

/** Removes the entries of a range and the summaries that end in it. */
function cut(db: Database, tree: number, first: number, last: number): void {
  const nodes = db.all<{ num: number; body: string; first: number }>(
    "SELECT num, body, first FROM nodes WHERE last BETWEEN ? AND ?",
    first,
    last,
  );
  for (const node of nodes) {
    const own = segmentRow(db, segmentOf(node.first))?.tree ?? tree;
    release(db, node.body, { tree: own, place: nodePlace(node.num) });
    db.run("DELETE FROM node_children WHERE parent = ?1 OR child = ?1", node.num);
    db.run("DELETE FROM nodes WHERE num = ?", node.num);
  }
  const entries = db.all<{ num: number; body: string }>(
    "SELECT num, body FROM entries WHERE num BETWEEN ? AND ?",
    first,
    last,
  );
  for (const entry of entries) release(db, entry.body, { tree, place: entry.num });
  db.run("DELETE FROM entries WHERE num BETWEEN ? AND ?", first, last);
}

/**
 * Merges the index into one segment, which erases deleted words from it. A merge does not touch an index of one segment,
 * so a word is added before and removed afterwards.
 */
function rewriteIndex(db: Database, pause: () => void): void {
  const extra = treeWord(0);
  if (getMeta(db, SCRUB) !== "index")
    db.transaction(() => {
      db.run("INSERT INTO words (rowid, body) VALUES (?, ?)", EXTRA_ROW, extra);
      setMeta(db, SCRUB, "index");
    });
  for (let pages = -DELETED_MERGE_PAGES; mergeIndex(db, pages); pages = DELETED_MERGE_PAGES) pause();
  db.transaction(() => {
    db.run("INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)", EXTRA_ROW, extra);
    setMeta(db, SCRUB, "rows");
  });
}
