/** Rows of the index as the store reads them. */
import type { Database } from "@pagurus/core/data/sqlite";
import { checked, checkedEntry, IndexDamage, type StoredEntryRow } from "./index-sums.ts";
import type { Segment } from "../transcript/transcript-tree.ts";

export interface SessionRow {
  num: number;
  id: string;
  key: string;
  cwd: string;
  created: string;
  updated: string;
  name: string | null;
  entries: number;
  /** Bytes of the transcript that are indexed. */
  bytes: number;
  header_length: number;
  header_hash: string;
  last_offset: number;
  last_length: number;
  last_hash: string;
  leaf_id: string | null;
  leaf_end: number;
  epoch: number;
  /** Bytes whose words are in the full text index. */
  words_bytes: number;
  /** Indexed lines after the header, including unreadable ones. */
  lines: number;
  /** Messages on the path, the leaf included. */
  leaf_messages: number;
  /** From the header; 0 without one. Ascending per key in the order of creation. */
  generation: number;
  /** The session of a key with the greatest one is current. */
  precedence: number;
  /** Folder that the key was made for; null when a caller chose it. */
  folder: string | null;
  /** First words of the person. */
  title: string | null;
}

export interface EntryRow extends StoredEntryRow {
  num: number;
  sum: number;
}

function session(row: SessionRow | undefined): SessionRow | undefined {
  return row && checked("sessions", row);
}

function entry(row: EntryRow | undefined): EntryRow | undefined {
  return row && checkedEntry(row);
}

export function sessionRow(db: Database, sessionId: string): SessionRow | undefined {
  return session(db.get<SessionRow>("SELECT * FROM sessions WHERE id = ?", sessionId));
}

export function sessionByNum(db: Database, num: number): SessionRow | undefined {
  return session(db.get<SessionRow>("SELECT * FROM sessions WHERE num = ?", num));
}

/** Every generation of a key, newest first; the first one is current. */
export function generations(db: Database, key: string): SessionRow[] {
  const rows = db.all<SessionRow>(
    "SELECT * FROM sessions WHERE key = ? ORDER BY precedence DESC, id DESC",
    key,
  );
  // Cross-check: a row that an index of the database misses would silently be absent.
  const count = db.get<{ n: number }>(
    "SELECT count(*) AS n FROM sessions INDEXED BY sessions_by_generation WHERE key = ?",
    key,
  );
  if (count?.n !== rows.length) throw new IndexDamage(`Two indexes disagree on the sessions of a key.`);
  return rows.map((row) => checked("sessions", row));
}

/** Throws `IndexDamage` when a session of the table is not found by its key, or is not what was stored. Reads every row. */
export function assertKeysFound(db: Database): void {
  const rows = db.all<SessionRow & { found: number }>(
    `SELECT one.*, EXISTS (SELECT 1 FROM sessions AS other INDEXED BY sessions_by_key
       WHERE other.key = one.key AND other.num = one.num) AS found FROM sessions AS one NOT INDEXED`,
  );
  for (const { found, ...row } of rows)
    if (checked("sessions", row) && found === 0) throw new IndexDamage("A session is not found by its key.");
}

/** Every session and generation, last used first. */
export function allSessions(db: Database): SessionRow[] {
  const rows = db.all<SessionRow>("SELECT * FROM sessions ORDER BY updated DESC, id DESC");
  return rows.map((row) => checked("sessions", row));
}

/** The same for an entry of a session by its id. */
export function assertNoEntry(db: Database, num: number, id: string): void {
  const row = db.get("SELECT 1 FROM entries NOT INDEXED WHERE session = ? AND id = ? LIMIT 1", num, id);
  if (row !== undefined) throw new IndexDamage("An entry is not found by its id.");
}

/** The current generations of the keys that were made for a folder, last used first. */
export function sessionsInFolder(db: Database, folder: string): SessionRow[] {
  const rows = db.all<SessionRow>(
    `SELECT * FROM sessions AS one WHERE folder = ? AND NOT EXISTS
       (SELECT 1 FROM sessions AS newer WHERE newer.key = one.key
          AND (newer.precedence, newer.id) > (one.precedence, one.id))
     ORDER BY updated DESC, id DESC`,
    folder,
  );
  // Cross-check: a row under the wrong folder in the database's index would be missing.
  const count = db.get<{ table_n: number; index_n: number }>(
    `SELECT (SELECT count(*) FROM sessions NOT INDEXED WHERE folder = ?1) AS table_n,
       (SELECT count(*) FROM sessions INDEXED BY sessions_by_folder WHERE folder = ?1) AS index_n`,
    folder,
  );
  if (count?.table_n !== count?.index_n) throw new IndexDamage("A session is not found by its folder.");
  for (const row of rows)
    if (checked("sessions", row).folder !== folder)
      throw new IndexDamage("A session is found in another folder than its own.");
  return rows;
}

/** How many turns have entries in a session. */
export function turnCount(db: Database, session: number): number {
  const row = db.get<{ count: number }>("SELECT count(*) AS count FROM turns WHERE session = ?", session);
  return row?.count ?? 0;
}

/** Position of a session among those of its key. */
export interface KeyPosition {
  current: boolean;
  /** 1 for the first that was created under the key. */
  generation: number;
}

export function keyPosition(db: Database, row: SessionRow): KeyPosition {
  const newest = db.get<{ num: number }>(
    "SELECT num FROM sessions WHERE key = ? ORDER BY precedence DESC, id DESC LIMIT 1",
    row.key,
  );
  const upTo = db.get<{ count: number }>(
    "SELECT count(*) AS count FROM sessions WHERE key = ? AND (generation, id) <= (?, ?)",
    row.key,
    row.generation,
    row.id,
  );
  return { current: newest?.num === row.num, generation: Math.max(1, upTo?.count ?? 1) };
}

/** The same for all sessions, from their rows. By `num`. */
export function keyPositions(rows: readonly SessionRow[]): Map<number, KeyPosition> {
  const positions = new Map<number, KeyPosition>();
  for (const ofKey of Map.groupBy(rows, ({ key }) => key).values()) {
    const newest = ofKey.reduce((one, other) => (isAfter(one, other, "precedence") ? one : other));
    const sorted = ofKey.toSorted((one, other) => (isAfter(one, other, "generation") ? 1 : -1));
    for (const [at, { num }] of sorted.entries())
      positions.set(num, { current: num === newest.num, generation: at + 1 });
  }
  return positions;
}

function isAfter(one: SessionRow, other: SessionRow, by: "generation" | "precedence"): boolean {
  return one[by] === other[by] ? one.id > other.id : one[by] > other[by];
}

/** How many turns have entries in each session, by its `num`; absent for none. */
export function turnCounts(db: Database): Map<number, number> {
  return new Map(db.arrays<[number, number]>("SELECT session, count(*) FROM turns GROUP BY session"));
}

/** Generation and precedence of the next session of a key. */
export function nextKeyPosition(db: Database, key: string): { generation: number; precedence: number } {
  const row = db.get<{ count: number; generation: number | null; precedence: number | null }>(
    "SELECT count(*) AS count, max(generation) AS generation, max(precedence) AS precedence FROM sessions WHERE key = ?",
    key,
  );
  const generation = Math.max(row?.count ?? 0, row?.generation ?? 0) + 1;
  return { generation, precedence: Math.max(generation, (row?.precedence ?? 0) + 1) };
}

export function segmentsOf(db: Database, session: number): Segment[] {
  const rows = db.all<{ start: number; end: number; parent_end: number }>(
    "SELECT * FROM segments WHERE session = ? ORDER BY start",
    session,
  );
  return rows.map((row) => {
    const { start, end, parent_end: parentEnd } = checked("segments", row);
    return { start, end, parentEnd };
  });
}

export function entryById(db: Database, session: number, id: string): EntryRow | undefined {
  return entry(db.get<EntryRow>("SELECT * FROM entries WHERE session = ? AND id = ?", session, id));
}

/** The entry with this id, or if it is unreadable the first one written after it: ids sort by time of writing. */
export function entryFrom(db: Database, session: number, id: string): EntryRow | undefined {
  return entry(
    db.get<EntryRow>("SELECT * FROM entries WHERE session = ? AND id >= ? ORDER BY id LIMIT 1", session, id),
  );
}

/** The last entry written before an unreadable id. */
export function entryBefore(db: Database, session: number, id: string): EntryRow | undefined {
  return entry(
    db.get<EntryRow>(
      "SELECT * FROM entries WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1",
      session,
      id,
    ),
  );
}

/** The last compaction entry in [start, end). */
export function lastCompactionIn(
  db: Database,
  session: number,
  start: number,
  end: number,
): EntryRow | undefined {
  return entry(
    db.get<EntryRow>(
      "SELECT * FROM entries WHERE session = ? AND type = 'compaction' AND offset >= ? AND offset < ? ORDER BY offset DESC LIMIT 1",
      session,
      start,
      end,
    ),
  );
}

/** Engines' entries and compactions before an offset, on or off the path, newest first; at most `limit` of each. */
export function engineEntriesBefore(
  db: Database,
  session: number,
  before: number,
  limit: number,
): EntryRow[] {
  const of = (type: "engine" | "compaction"): EntryRow[] =>
    db
      .all<EntryRow>(
        `SELECT * FROM entries WHERE session = ? AND type = '${type}' AND offset < ? ORDER BY offset DESC LIMIT ?`,
        session,
        before,
        limit,
      )
      .flatMap((row) => entry(row) ?? []);
  const rows = [...of("engine"), ...of("compaction")];
  return rows.toSorted((a, b) => b.offset - a.offset).slice(0, limit);
}

/** The greatest entry id that was made here; those of other programs do not sort by time of writing. */
export function lastEntryId(db: Database, session: number, before: string): string | null {
  const row = db.get<{ id: string }>(
    `SELECT id FROM entries WHERE session = ? AND id < ? AND ${OWN_ID} ORDER BY id DESC LIMIT 1`,
    session,
    before,
  );
  return row?.id ?? null;
}

/** The greatest session id that was made here. */
export function lastSessionId(db: Database, before: string): string | null {
  const row = db.get<{ id: string }>(
    `SELECT id FROM sessions WHERE id < ? AND ${OWN_ID} ORDER BY id DESC LIMIT 1`,
    before,
  );
  return row?.id ?? null;
}

/** Ids as `IdSource` makes them. */
const OWN_ID = "length(id) = 16 AND id NOT GLOB '*[^0-9a-z]*'";

/** Places of the entries that supersede one, newest first. */
export function supersedingPlaces(db: Database, session: number, id: string): EntryRow[] {
  return db
    .all<EntryRow>(
      `SELECT entries.* FROM superseded JOIN entries ON entries.num = superseded.by_num
     WHERE superseded.session = ? AND superseded.id = ? ORDER BY entries.offset DESC`,
      session,
      id,
    )
    .map(checkedEntry);
}

export interface TurnRow {
  turn: string;
  start: number;
  commit_end: number | null;
}

export function openTurns(db: Database, session: number): TurnRow[] {
  const rows = db.all<TurnRow>(
    "SELECT * FROM turns WHERE session = ? AND commit_end IS NULL ORDER BY start",
    session,
  );
  return rows.map((row) => checked("turns", row));
}

export function turnRow(db: Database, session: number, turn: string): TurnRow | undefined {
  const row = db.get<TurnRow>("SELECT * FROM turns WHERE session = ? AND turn = ?", session, turn);
  return row && checked("turns", row);
}

/** The first turn that starts after an offset and that no engine has taken. */
export function nextUnfinalized(db: Database, session: number, after: number): TurnRow | undefined {
  const row = db.get<TurnRow>(
    "SELECT * FROM turns WHERE session = ? AND unfinalized = 1 AND start > ? ORDER BY start LIMIT 1",
    session,
    after,
  );
  return row && checked("turns", row);
}

export function isUnfinalized(db: Database, session: number, turn: string): boolean {
  return (
    db.get("SELECT 1 FROM turns WHERE session = ? AND turn = ? AND unfinalized = 1", session, turn) !==
    undefined
  );
}

export function isCommitted(db: Database, session: number, turn: string): boolean {
  return (
    db.get(
      "SELECT 1 FROM turns WHERE session = ? AND turn = ? AND commit_end IS NOT NULL AND moved = 0",
      session,
      turn,
    ) !== undefined
  );
}

/** The ranges of a turn's lines in file order: more than one after a rewrite, which writes a turn's end again. */
export function spansOf(
  db: Database,
  session: number,
  turn: string,
): { start: number; end: number | null }[] {
  return db.all("SELECT start, end FROM spans WHERE session = ? AND turn = ? ORDER BY start", session, turn);
}

/** Removes a session's rows, including its words. */
export function removeSession(db: Database, session: number): void {
  db.run("DELETE FROM words WHERE rowid IN (SELECT num FROM entries WHERE session = ?)", session);
  for (const table of ["entries", "segments", "turns", "spans", "superseded", "unreadable"])
    db.run(`DELETE FROM ${table} WHERE session = ?`, session);
  db.run("DELETE FROM sessions WHERE num = ?", session);
}
