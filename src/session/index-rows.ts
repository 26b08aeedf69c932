/** Rows of the index as the store reads them. */
import type { IndexDb } from "./index-db.ts";
import type { Segment } from "./tree.ts";

export interface SessionRow {
  num: number;
  id: string;
  key: string;
  cwd: string;
  created: string;
  updated: string;
  name: string | null;
  entries: number;
  /** How far the transcript is indexed. */
  bytes: number;
  header_length: number;
  header_hash: string;
  last_offset: number;
  last_length: number;
  last_hash: string;
  leaf_id: string | null;
  leaf_end: number;
  epoch: number;
  /** How far its words are in the full text index. */
  words_bytes: number;
  /** Lines behind the header that are indexed, unreadable ones counted. */
  lines: number;
  /** Messages on the path, the leaf included. */
  leaf_messages: number;
  /** As the header says; 0 where it does not. Ascending under a key in the order of making. */
  generation: number;
  /** The session of a key with the greatest one is current. */
  precedence: number;
}

export interface EntryRow {
  num: number;
  session: number;
  id: string;
  offset: number;
  length: number;
  type: string;
  /** For a rewind: the end of the entry that it moved to. */
  jump: number | null;
  /** Number of the line; 1 for the first behind the header. */
  line: number;
  /** Messages before it on its branch. */
  messages: number;
}

export function sessionRow(db: IndexDb, sessionId: string): SessionRow | undefined {
  return db.get<SessionRow>("SELECT * FROM sessions WHERE id = ?", sessionId);
}

export function sessionByNum(db: IndexDb, num: number): SessionRow | undefined {
  return db.get<SessionRow>("SELECT * FROM sessions WHERE num = ?", num);
}

/** Every generation of a key, newest first; the first one is current. */
export function generations(db: IndexDb, key: string): SessionRow[] {
  return db.all<SessionRow>("SELECT * FROM sessions WHERE key = ? ORDER BY precedence DESC, id DESC", key);
}

/** Where a session stands among those of its key. */
export interface Standing {
  current: boolean;
  /** 1 for the first that was made under the key. */
  generation: number;
}

export function standing(db: IndexDb, row: SessionRow): Standing {
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

/** Generation and precedence of the next session of a key. */
export function nextStanding(db: IndexDb, key: string): { generation: number; precedence: number } {
  const row = db.get<{ count: number; generation: number | null; precedence: number | null }>(
    "SELECT count(*) AS count, max(generation) AS generation, max(precedence) AS precedence FROM sessions WHERE key = ?",
    key,
  );
  const generation = Math.max(row?.count ?? 0, row?.generation ?? 0) + 1;
  return { generation, precedence: Math.max(generation, (row?.precedence ?? 0) + 1) };
}

export function segmentsOf(db: IndexDb, session: number): Segment[] {
  const rows = db.all<{ start: number; end: number; parent_end: number }>(
    "SELECT start, end, parent_end FROM segments WHERE session = ? ORDER BY start",
    session,
  );
  return rows.map((row) => ({ start: row.start, end: row.end, parentEnd: row.parent_end }));
}

export function entryById(db: IndexDb, session: number, id: string): EntryRow | undefined {
  return db.get<EntryRow>("SELECT * FROM entries WHERE session = ? AND id = ?", session, id);
}

/** The entry with this id, or where none is readable the first one written after it: ids sort by time of writing. */
export function entryFrom(db: IndexDb, session: number, id: string): EntryRow | undefined {
  return db.get<EntryRow>(
    "SELECT * FROM entries WHERE session = ? AND id >= ? ORDER BY id LIMIT 1",
    session,
    id,
  );
}

/** The last entry written before an id that is not readable. */
export function entryBefore(db: IndexDb, session: number, id: string): EntryRow | undefined {
  return db.get<EntryRow>(
    "SELECT * FROM entries WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1",
    session,
    id,
  );
}

/** The last compaction entry in [start, end). */
export function lastCompactionIn(
  db: IndexDb,
  session: number,
  start: number,
  end: number,
): EntryRow | undefined {
  return db.get<EntryRow>(
    "SELECT * FROM entries WHERE session = ? AND type = 'compaction' AND offset >= ? AND offset < ? ORDER BY offset DESC LIMIT 1",
    session,
    start,
    end,
  );
}

/** The greatest entry id that was made here; those of other programs say nothing about the order of writing. */
export function lastEntryId(db: IndexDb, session: number, before: string): string | null {
  const row = db.get<{ id: string }>(
    `SELECT id FROM entries WHERE session = ? AND id < ? AND ${OWN_ID} ORDER BY id DESC LIMIT 1`,
    session,
    before,
  );
  return row?.id ?? null;
}

/** The greatest session id that was made here. */
export function lastSessionId(db: IndexDb, before: string): string | null {
  const row = db.get<{ id: string }>(
    `SELECT id FROM sessions WHERE id < ? AND ${OWN_ID} ORDER BY id DESC LIMIT 1`,
    before,
  );
  return row?.id ?? null;
}

/** Ids as `IdSource` makes them. */
const OWN_ID = "length(id) = 16 AND id NOT GLOB '*[^0-9a-z]*'";

/** Where the entries that supersede one are, newest first. */
export function supersedingPlaces(db: IndexDb, session: number, id: string): EntryRow[] {
  return db.all<EntryRow>(
    `SELECT entries.* FROM superseded JOIN entries ON entries.num = superseded.by_num
     WHERE superseded.session = ? AND superseded.id = ? ORDER BY entries.offset DESC`,
    session,
    id,
  );
}

export interface TurnRow {
  turn: string;
  start: number;
  commit_end: number | null;
}

export function openTurns(db: IndexDb, session: number): TurnRow[] {
  return db.all<TurnRow>(
    "SELECT turn, start, commit_end FROM turns WHERE session = ? AND commit_end IS NULL ORDER BY start",
    session,
  );
}

/** The first turn that starts behind an offset and that no engine has taken. */
export function nextUnfinalized(db: IndexDb, session: number, after: number): TurnRow | undefined {
  return db.get<TurnRow>(
    "SELECT turn, start, commit_end FROM turns WHERE session = ? AND unfinalized = 1 AND start > ? ORDER BY start LIMIT 1",
    session,
    after,
  );
}

export function isUnfinalized(db: IndexDb, session: number, turn: string): boolean {
  return (
    db.get("SELECT 1 FROM turns WHERE session = ? AND turn = ? AND unfinalized = 1", session, turn) !==
    undefined
  );
}

export function isCommitted(db: IndexDb, session: number, turn: string): boolean {
  return (
    db.get(
      "SELECT 1 FROM turns WHERE session = ? AND turn = ? AND commit_end IS NOT NULL AND moved = 0",
      session,
      turn,
    ) !== undefined
  );
}

/** The ranges of a turn's lines in file order: more than one after a rewrite, which writes a turn's end again. */
export function spansOf(db: IndexDb, session: number, turn: string): { start: number; end: number | null }[] {
  return db.all("SELECT start, end FROM spans WHERE session = ? AND turn = ? ORDER BY start", session, turn);
}

/** Removes a session's rows, its words included. */
export function removeSession(db: IndexDb, session: number): void {
  db.run("DELETE FROM words WHERE rowid IN (SELECT num FROM entries WHERE session = ?)", session);
  for (const table of ["entries", "segments", "turns", "spans", "superseded", "unreadable"])
    db.run(`DELETE FROM ${table} WHERE session = ?`, session);
  db.run("DELETE FROM sessions WHERE num = ?", session);
}
