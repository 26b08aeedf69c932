/**
 * Takes transcript lines into the index. Lines come from the file (catching up after a crash or another program) or
 * from the writer's memory (at a commit); both go through `indexLines`, which skips what is indexed already, so
 * several processes may do it at the same time.
 */
import type { TranscriptEntry } from "../contract/transcript.ts";
import { foreignHeader, lineHash, parseEntry, parseHeader } from "./entry.ts";
import type { IndexDb } from "./index-db.ts";
import { entryBefore, entryById, segmentsOf, sessionRow, type SessionRow } from "./index-rows.ts";
import { isSessionKey, recoveredKey } from "./keys.ts";
import { linesForward, readAt, type Line } from "./lines.ts";
import { PathTree } from "./tree.ts";

/** `customType` of the entry that says an unfinalized turn was taken by the engine. */
export const FINALIZED_TYPE = "pagurus.finalized";

export interface IndexedLine {
  offset: number;
  length: number;
  /** Without the newline. */
  bytes: Buffer;
  content: { entry: TranscriptEntry } | { problem: string };
}

/** A last line that is not whole. `entry` is true when only its newline is missing. */
export interface TornLine {
  offset: number;
  length: number;
  entry: boolean;
}

/** The turn id that a finalization marker names. */
function finalizedTurn(entry: TranscriptEntry): string | undefined {
  if (entry.type !== "custom" || entry.customType !== FINALIZED_TYPE) return undefined;
  const turnId = (entry.data as { turnId?: unknown } | null | undefined)?.turnId;
  return typeof turnId === "string" ? turnId : undefined;
}

/** Offset of the row that says that a session's header is lost; no line is there. */
export const HEADER_LOST_AT = -1;

/** The first line of a transcript when it is a whole line. */
export function firstLine(fd: number, size: number): Line | undefined {
  const [first] = linesForward(fd, 0, size);
  return first?.terminated ? first : undefined;
}

/**
 * Creates the row of a session whose file is not indexed yet: its header only. `given` is the key of its key file,
 * `former` the row that the index had before. Call in a transaction.
 */
export function insertSession(
  db: IndexDb,
  fd: number,
  size: number,
  sessionId: string,
  known: { given: string | undefined; former: SessionRow | undefined },
): void {
  const first = firstLine(fd, size);
  const header = first && parseHeader(first.bytes);
  const headerLength = header && first ? first.length : 0;
  const { given, former } = known;
  const written = header?.key ?? (first && foreignHeader(first.bytes)?.key);
  // A session whose header is lost stays reachable under a key of its own.
  const sessionKey = [given, written, former?.key].find((key) => key !== undefined && isSessionKey(key));
  const created =
    header?.timestamp ??
    former?.created ??
    new Date(Number.parseInt(sessionId.slice(0, 9), 36)).toISOString();
  db.run(
    `INSERT INTO sessions (id, key, cwd, created, updated, entries, bytes, header_length, header_hash,
       last_offset, last_length, last_hash, leaf_id, leaf_end, epoch, words_bytes)
     VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, 0, 0, '', NULL, 0, 0, ?)`,
    sessionId,
    sessionKey ?? recoveredKey(sessionId),
    header?.cwd ?? former?.cwd ?? "",
    created,
    created,
    headerLength,
    headerLength,
    headerLength > 0 && first ? lineHash(first.bytes) : "",
    headerLength,
  );
  if (header) return;
  db.run(
    `INSERT INTO unreadable (session, offset, length, problem)
     SELECT num, ?, 0, 'the header is lost' FROM sessions WHERE id = ?`,
    HEADER_LOST_AT,
    sessionId,
  );
}

/** True while the file still holds what was indexed: its header and the last indexed line, byte for byte. */
export function isSameFile(fd: number, size: number, row: SessionRow): boolean {
  if (size < row.bytes) return false;
  if (row.header_length === 0) {
    // Somebody put the header back in its place.
    const first = firstLine(fd, size);
    if (first && parseHeader(first.bytes)) return false;
  }
  const holds = (offset: number, length: number, hash: string): boolean =>
    length === 0 || lineHash(readAt(fd, offset, length - 1)) === hash;
  return (
    holds(0, row.header_length, row.header_hash) && holds(row.last_offset, row.last_length, row.last_hash)
  );
}

/**
 * Indexes what the file holds beyond the indexed size. The last line is left out while it is torn (cut off, or not
 * readable): the writer sets it aside, and until then it may be a line that is just being written.
 */
export function catchUpLines(db: IndexDb, fd: number, size: number, row: SessionRow): TornLine | undefined {
  let torn: TornLine | undefined;
  let held: IndexedLine | undefined;
  function* whole(): Generator<IndexedLine> {
    for (const { offset, length, bytes, terminated } of linesForward(fd, row.bytes, size)) {
      if (held) yield held;
      held = undefined;
      const line = { offset, length, bytes, content: parseEntry(bytes) };
      if (!terminated) torn = { offset, length, entry: "entry" in line.content };
      else if ("problem" in line.content) held = line;
      else yield line;
    }
  }
  indexLines(db, row.id, whole());
  if (held) torn ??= { offset: held.offset, length: held.length, entry: false };
  return torn;
}

/** Call in a transaction. Lines that are indexed already are skipped. */
export function indexLines(db: IndexDb, sessionId: string, lines: Iterable<IndexedLine>): void {
  const row = sessionRow(db, sessionId);
  if (!row) return;
  const state = { ...row };
  const tree = new PathTree(segmentsOf(db, row.num), row.leaf_end);
  let last: IndexedLine | undefined;
  for (const line of lines) {
    if (line.offset < row.bytes) continue;
    last = line;
    const problem =
      "problem" in line.content ? line.content.problem : takeEntry(db, state, tree, line, line.content.entry);
    if (problem !== undefined) {
      db.run(
        "INSERT OR IGNORE INTO unreadable (session, offset, length, problem) VALUES (?, ?, ?, ?)",
        row.num,
        line.offset,
        line.length,
        problem,
      );
    }
  }
  if (!last) return;
  db.run(
    `UPDATE sessions SET updated = ?, name = ?, entries = ?, bytes = ?, last_offset = ?, last_length = ?,
       last_hash = ?, leaf_id = ?, leaf_end = ?, epoch = ? WHERE num = ?`,
    state.updated,
    state.name,
    state.entries,
    last.offset + last.length,
    last.offset,
    last.length,
    lineHash(last.bytes),
    state.leaf_id,
    state.leaf_end,
    state.epoch,
    row.num,
  );
}

/** Returns why the entry cannot be used, if so. */
function takeEntry(
  db: IndexDb,
  state: SessionRow,
  tree: PathTree,
  line: IndexedLine,
  entry: TranscriptEntry,
): string | undefined {
  const target = entry.type === "rewind" ? resolvePlace(db, state.num, entry.targetId) : undefined;
  const added = db.run(
    "INSERT OR IGNORE INTO entries (session, id, offset, length, type, jump) VALUES (?, ?, ?, ?, ?, ?)",
    state.num,
    entry.id,
    line.offset,
    line.length,
    entry.type,
    target?.end ?? null,
  );
  if (added === 0) return "its id occurs before";
  state.entries += 1;
  state.updated = entry.timestamp;
  state.epoch = Math.max(state.epoch, entry.epoch ?? 0);
  if (target) {
    tree.moveTo(target.end);
    state.leaf_id = target.id;
  } else {
    const parentEnd =
      entry.parentId === state.leaf_id ? state.leaf_end : resolvePlace(db, state.num, entry.parentId).end;
    const segment = tree.extend(line.offset, line.length, parentEnd);
    db.run(
      `INSERT INTO segments (session, start, end, parent_end) VALUES (?, ?, ?, ?)
       ON CONFLICT (session, start) DO UPDATE SET end = excluded.end`,
      state.num,
      segment.start,
      segment.end,
      segment.parentEnd,
    );
    state.leaf_id = entry.id;
  }
  state.leaf_end = tree.leafEnd;
  takeFacts(db, state, line, entry);
  return undefined;
}

function takeFacts(db: IndexDb, state: SessionRow, line: IndexedLine, entry: TranscriptEntry): void {
  if (entry.turnId !== undefined) {
    db.run(
      "INSERT OR IGNORE INTO turns (session, turn, start) VALUES (?, ?, ?)",
      state.num,
      entry.turnId,
      line.offset,
    );
  }
  if (entry.type === "turn_commit") {
    db.run(
      "UPDATE turns SET commit_end = ?, unfinalized = ? WHERE session = ? AND turn = ? AND commit_end IS NULL",
      line.offset + line.length,
      entry.finalized === false ? 1 : 0,
      state.num,
      entry.turnId,
    );
  } else if (entry.type === "session_info" && entry.name !== undefined) {
    state.name = entry.name;
  } else if (entry.type === "message" && entry.supersedes !== undefined) {
    db.run(
      "INSERT INTO superseded (session, id, by_num) SELECT session, ?, num FROM entries WHERE session = ? AND id = ?",
      entry.supersedes,
      state.num,
      entry.id,
    );
  }
  const finalized = finalizedTurn(entry);
  if (finalized !== undefined)
    db.run("UPDATE turns SET unfinalized = 0 WHERE session = ? AND turn = ?", state.num, finalized);
}

/**
 * Where an id stands in the tree. One whose line is unreadable stands for the readable entry written before it, so
 * that what follows a lost line continues the conversation.
 */
function resolvePlace(db: IndexDb, session: number, id: string | null): { id: string | null; end: number } {
  if (id === null) return { id: null, end: 0 };
  const row = entryById(db, session, id) ?? entryBefore(db, session, id);
  if (!row) return { id: null, end: 0 };
  if (row.jump === null) return { id: row.id, end: row.offset + row.length };
  const target = db.get<{ id: string }>(
    "SELECT id FROM entries WHERE session = ? AND offset + length = ?",
    session,
    row.jump,
  );
  return { id: target?.id ?? null, end: row.jump };
}
