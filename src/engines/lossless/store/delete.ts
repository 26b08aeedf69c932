/**
 * Forgetting sessions, down to the bytes in the file. First the sessions go, at once; then what no session has any more,
 * in slices; then the index and the file are written anew. A mark in `meta` stands from the first step to the last, so
 * that whoever opens the store after a crash goes on. Runs in the worker thread.
 */
import { rmSync } from "node:fs";
import { indexSome, mergeIndex } from "./backlog.ts";
import type { Db } from "./db.ts";
import { nodePlace } from "./nodes.ts";
import { damagedFiles } from "./open.ts";
import { placeOf, segmentOf } from "./place.ts";
import { getMeta, setMeta } from "./sessions.ts";
import { release, treeWord } from "./texts.ts";
import { segmentRow, sessionRow, type SessionRow } from "./tree.ts";

/** `rows`: entries without a session may be there. `index`: so is the word that makes the index be written anew. */
const SCRUB = "scrub";
/** Entries of one transaction. */
const SLICE = 200;
/** Pages of the index that one step merges. */
const MERGE_PAGES = 200;
/** A row that no text has. */
const EXTRA_ROW = -1;
const CHECKPOINT_TRIES = 100;

export interface Forgotten {
  entries: number;
  texts: number;
}

export function needsScrub(db: Db): boolean {
  return getMeta(db, SCRUB) !== undefined;
}

/** `pause` is called between transactions. Throws what SQLite throws. */
export function forget(db: Db, file: string, sessionIds: readonly string[], pause: () => void): Forgotten {
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

/** Everything behind the first step. */
export function finishScrub(db: Db, file: string, pause: () => void): void {
  if (!needsScrub(db)) return;
  while (indexSome(db, SLICE)) pause();
  for (const segment of orphanedSegments(db)) while (cutSlice(db, segment)) pause();
  rewriteIndex(db, pause);
  for (const damaged of damagedFiles(file)) rmSync(damaged, { force: true });
  db.raw.exec("VACUUM");
  for (let tries = 0; tries < CHECKPOINT_TRIES && !emptyLog(db); tries++) pause();
  db.transaction(() => db.run("DELETE FROM meta WHERE name = ?", SCRUB));
}

/** False while a reader still needs the log. */
function emptyLog(db: Db): boolean {
  return db.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0;
}

function counts(db: Db): Forgotten {
  return (
    db.get<Forgotten>(
      "SELECT (SELECT count(*) FROM entries) AS entries, (SELECT count(*) FROM texts) AS texts",
    ) ?? { entries: 0, texts: 0 }
  );
}

function dropSession(db: Db, session: SessionRow): void {
  const bearing =
    "SELECT session FROM members WHERE segment IN (SELECT last / 4194304 FROM nodes WHERE session = ?) AND session <> ? LIMIT 1";
  const heir = db.get<{ session: number }>(bearing, session.num, session.num);
  // A fork goes on with the summaries whose entries it has; those of other entries go with them.
  if (heir) db.run("UPDATE nodes SET session = ? WHERE session = ?", heir.session, session.num);
  for (const table of ["frontiers", "frontier_nodes", "debts", "leases", "spend", "pins", "members"])
    db.run(`DELETE FROM ${table} WHERE session = ?`, session.num);
  db.run("DELETE FROM sessions WHERE num = ?", session.num);
}

/** Chains of which no session has the end. */
function orphanedSegments(db: Db): number[] {
  return db
    .all<{ num: number }>(
      `SELECT num FROM segments
       WHERE length > coalesce((SELECT max(length) FROM members WHERE segment = segments.num), 0) ORDER BY num DESC`,
    )
    .map(({ num }) => num);
}

/** Removes the last entries that no session has; false when none is left. */
function cutSlice(db: Db, segment: number): boolean {
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

/** Removes the entries of a stretch and the summaries that end in it. */
function cut(db: Db, tree: number, first: number, last: number): void {
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
 * Merges the index into one segment, which leaves nothing of deleted words in it. An index that is one segment already
 * is not touched by a merge, so a word is added before and taken away after.
 */
function rewriteIndex(db: Db, pause: () => void): void {
  const extra = treeWord(0);
  if (getMeta(db, SCRUB) !== "index")
    db.transaction(() => {
      db.run("INSERT INTO words (rowid, body) VALUES (?, ?)", EXTRA_ROW, extra);
      setMeta(db, SCRUB, "index");
    });
  for (let pages = -MERGE_PAGES; mergeIndex(db, pages); pages = MERGE_PAGES) pause();
  db.transaction(() => {
    db.run("INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)", EXTRA_ROW, extra);
    setMeta(db, SCRUB, "rows");
  });
}
