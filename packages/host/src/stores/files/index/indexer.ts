/**
 * Indexes transcript lines. Lines come from the file (catching up after a crash or another program) or from the writer's memory (at a
 * commit); both go through `indexLines`, which skips indexed lines, so several processes may do it at the same time.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import type { AgentMessage } from "@pagurus/contract/message";
import { ENGINE_ENTRY_PREFIX } from "@pagurus/contract/session/engine-entry";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { branchMark, branchIsWhole } from "../transcript/branch.ts";
import {
  foreignHeader,
  lineHash,
  parseEntry,
  parseHeader,
  type StoredHeader,
} from "../transcript/transcript-entry.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import {
  entryBefore,
  entryById,
  segmentsOf,
  sessionRow,
  type EntryRow,
  type SessionRow,
} from "./index-rows.ts";
import { entrySum } from "./index-sums.ts";
import { insertWords } from "./indexed-words.ts";
import type { KeyFile } from "../key-file.ts";
import { isSessionKey, recoveredKey } from "../keys.ts";
import { linesForward, readAt, type Line } from "../transcript/transcript-lines.ts";
import { titleOf } from "../title.ts";
import { PathTree, type Segment } from "../transcript/transcript-tree.ts";

/** `customType` of the entry that marks an unfinalized turn as taken by the engine. */
export const FINALIZED_TYPE = "pagurus.finalized";

export interface IndexedLine {
  offset: number;
  length: number;
  /** Without the newline. */
  bytes: Buffer;
  content: { entry: TranscriptEntry } | { problem: string };
}

/** An incomplete last line, or the lines of a rewrite that was cut off. */
export interface TornLine {
  offset: number;
  length: number;
  /** True when only its newline is missing. */
  entry: boolean;
  branch?: boolean;
}

/** Code of the marker of a turn that continues in another generation of the session. */
export const ROTATED_CODE = "rotated";

/** The turn id in a finalization marker. */
export function finalizedTurn(entry: TranscriptEntry): string | undefined {
  if (entry.type !== "custom" || entry.customType !== FINALIZED_TYPE) return undefined;
  const turnId = (entry.data as { turnId?: unknown } | null | undefined)?.turnId;
  return typeof turnId === "string" ? turnId : undefined;
}

/** Offset of the row that marks a session's header as lost; no line is there. */
export const HEADER_LOST_AT = -1;

/** The first line of a transcript, if it is complete. */
export function firstLine(fd: number, size: number): Line | undefined {
  const [first] = linesForward(fd, 0, size);
  return first?.terminated ? first : undefined;
}

/** The header of a transcript; undefined when its first line is no header of ours. Throws the system's errors. */
export function readHeader(file: string): StoredHeader | undefined {
  const fd = openSync(file, "r");
  try {
    const first = firstLine(fd, fstatSync(fd).size);
    return first && parseHeader(first.bytes);
  } finally {
    closeSync(fd);
  }
}

/**
 * Creates the row of a session whose file is not indexed yet: its header only. `keyFile` is the content of its key file, `former` the row
 * that the index had before. Call in a transaction.
 */
export function insertSession(
  db: Database,
  fd: number,
  size: number,
  sessionId: string,
  known: { keyFile: KeyFile | undefined; former: SessionRow | undefined },
): void {
  const first = firstLine(fd, size);
  const header = first && parseHeader(first.bytes);
  const headerLength = header && first ? first.length : 0;
  const { keyFile, former } = known;
  const written = header?.key ?? (first && foreignHeader(first.bytes)?.key);
  // A session whose header is lost stays reachable under a key of its own.
  const sessionKey = [keyFile?.key, written, former?.key].find(
    (key) => key !== undefined && isSessionKey(key),
  );
  const order = header ? headerOrder(header) : (keyFile?.order ?? former);
  // A line in the header's place is no line of the conversation.
  const lines = !header && first && "problem" in parseEntry(first.bytes) ? -1 : 0;
  const created =
    header?.timestamp ??
    former?.created ??
    new Date(Number.parseInt(sessionId.slice(0, 9), 36)).toISOString();
  db.run(
    `INSERT INTO sessions (id, key, cwd, created, updated, entries, bytes, header_length, header_hash,
       last_offset, last_length, last_hash, leaf_id, leaf_end, epoch, words_bytes, lines, leaf_messages,
       generation, precedence, folder)
     VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, 0, 0, '', NULL, 0, 0, ?, ?, 0, ?, ?, ?)`,
    sessionId,
    sessionKey ?? recoveredKey(sessionId),
    header?.cwd ?? former?.cwd ?? "",
    created,
    created,
    headerLength,
    headerLength,
    headerLength > 0 && first ? lineHash(first.bytes) : "",
    headerLength,
    lines,
    order?.generation ?? 0,
    order?.precedence ?? 0,
    // A copy under another key belongs to the caller.
    (header && sessionKey === header.key ? folderOf(header) : former?.folder) ?? null,
  );
  if (header) return;
  db.run(
    `INSERT INTO unreadable (session, offset, length, problem)
     SELECT num, ?, 0, 'the header is lost' FROM sessions WHERE id = ?`,
    HEADER_LOST_AT,
    sessionId,
  );
}

function folderOf({ folder }: StoredHeader): string | undefined {
  return typeof folder === "string" ? folder : undefined;
}

function headerOrder(header: StoredHeader): { generation: number; precedence: number } {
  const generation = Number.isSafeInteger(header.generation) ? (header.generation ?? 0) : 0;
  const precedence = Number.isSafeInteger(header.precedence) ? (header.precedence ?? 0) : generation;
  return { generation, precedence };
}

/** True while the file still has what was indexed: its header and the last indexed line, byte for byte. */
export function isSameFile(fd: number, size: number, row: SessionRow): boolean {
  if (size < row.bytes) return false;
  if (row.header_length === 0) {
    // The header was restored by another program.
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
 * Indexes the file beyond the indexed size. Leaves out a torn last line (cut off, or unreadable) and the lines of an incomplete rewrite:
 * the writer sets them aside, and until then they may be a write in progress. Ends with the line that reaches `most` bytes; 0 for none.
 */
export function catchUpLines(
  db: Database,
  fd: number,
  size: number,
  row: SessionRow,
  most = Infinity,
): TornLine | undefined {
  if (most === 0) return undefined;
  let torn: TornLine | undefined;
  let held: IndexedLine | undefined;
  function* whole(): Generator<IndexedLine> {
    for (const { offset, length, bytes, terminated } of linesForward(fd, row.bytes, size)) {
      if (held) yield held;
      held = undefined;
      const line = { offset, length, bytes, content: parseEntry(bytes) };
      const mark = "entry" in line.content ? branchMark(line.content.entry, row.id) : undefined;
      if (mark && !branchIsWhole(fd, offset, size, mark)) {
        torn = { offset, length: size - offset, entry: false, branch: true };
        return;
      }
      if (!terminated) torn = { offset, length, entry: "entry" in line.content };
      else if ("problem" in line.content) held = line;
      else yield line;
      if (offset + length - row.bytes >= most && !held) return;
    }
  }
  indexLines(db, row.id, whole());
  if (held) torn ??= { offset: held.offset, length: held.length, entry: false };
  return torn;
}

/**
 * Call in a transaction. Skips lines that are indexed already. With `words`, the words of the lines are indexed too, where those
 * before them are.
 */
export function indexLines(
  db: Database,
  sessionId: string,
  lines: Iterable<IndexedLine>,
  { words = false } = {},
): void {
  const row = sessionRow(db, sessionId);
  if (!row) return;
  const state = { ...row };
  const takesWords = words && row.words_bytes === row.bytes;
  const tree = new PathTree(segmentsOf(db, row.num), row.leaf_end);
  const batch: Batch = { db, state, tree, segments: [] };
  let last: IndexedLine | undefined;
  const worded: { num: number; message: AgentMessage }[] = [];
  for (const line of lines) {
    if (line.offset < row.bytes) continue;
    last = line;
    state.lines += 1;
    const taken = "problem" in line.content ? line.content : takeEntry(batch, line, line.content.entry);
    const problem = "problem" in taken ? taken.problem : undefined;
    if (takesWords && "entry" in line.content && "num" in taken && line.content.entry.type === "message")
      worded.push({ num: taken.num, message: line.content.entry.message });
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
  for (const { start, end, parentEnd } of batch.segments)
    db.run(
      `INSERT INTO segments (session, start, end, parent_end) VALUES (?, ?, ?, ?)
       ON CONFLICT (session, start) DO UPDATE SET end = excluded.end`,
      row.num,
      start,
      end,
      parentEnd,
    );
  db.run(
    `UPDATE sessions SET updated = ?, name = ?, entries = ?, bytes = ?, last_offset = ?, last_length = ?,
       last_hash = ?, leaf_id = ?, leaf_end = ?, epoch = ?, lines = ?, leaf_messages = ?, title = ?,
       words_bytes = ?
     WHERE num = ?`,
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
    state.lines,
    state.leaf_messages,
    state.title,
    takesWords ? last.offset + last.length : row.words_bytes,
    row.num,
  );
  // All at the end: before each write to another table, FTS5 makes a segment of the words that it has.
  for (const { num, message } of worded) insertWords(db, { num, session: row.num }, message);
}

/** What the lines of one call have in common: most of a long file continue the segment and the turn of the line before. */
interface Batch {
  db: Database;
  state: SessionRow;
  tree: PathTree;
  /** New ones, and those that grew. */
  segments: Segment[];
  /** A turn whose row is there, with a span that is open. */
  openTurn?: string | undefined;
}

/** Returns the number of the entry's row, or why the entry cannot be used. */
function takeEntry(
  batch: Batch,
  line: IndexedLine,
  entry: TranscriptEntry,
): { num: number } | { problem: string } {
  const { db, state, tree } = batch;
  const target = entry.type === "rewind" ? resolvePlace(db, state.num, entry.targetId) : undefined;
  const parent = target ?? parentPlace(db, state, entry);
  const { offset, length } = line;
  // An engine's entries have a type of their own in the index, since they are read off the path too.
  const isEngines = entry.type === "custom" && entry.customType.startsWith(ENGINE_ENTRY_PREFIX);
  const row = {
    session: state.num,
    id: entry.id,
    offset,
    length,
    type: isEngines ? "engine" : entry.type,
    jump: target?.end ?? null,
  };
  const added = db.get<{ num: number }>(
    `INSERT OR IGNORE INTO entries (session, id, offset, length, type, jump, line, messages, sum)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING num`,
    row.session,
    row.id,
    offset,
    length,
    row.type,
    row.jump,
    state.lines,
    parent.messages,
    entrySum({ ...row, line: state.lines, messages: parent.messages }),
  );
  if (!added) return { problem: "its id occurs before" };
  state.entries += 1;
  state.updated = entry.timestamp;
  state.epoch = Math.max(state.epoch, entry.epoch ?? 0);
  if (target) {
    tree.moveTo(target.end);
    state.leaf_id = target.id;
  } else {
    const segment = tree.extend(line.offset, line.length, parent.end);
    if (batch.segments.at(-1) !== segment) batch.segments.push(segment);
    state.leaf_id = entry.id;
  }
  state.leaf_end = tree.leafEnd;
  state.leaf_messages = parent.messages + (entry.type === "message" ? 1 : 0);
  takeFacts(batch, line, entry);
  return added;
}

function takeFacts(batch: Batch, line: IndexedLine, entry: TranscriptEntry): void {
  const { db, state } = batch;
  const { turnId } = entry;
  if (turnId !== undefined && turnId !== batch.openTurn) {
    takeTurn(db, state.num, line.offset, turnId, entry.type);
    batch.openTurn = turnId;
  }
  if (entry.type === "turn_commit") {
    batch.openTurn = undefined;
    const end = line.offset + line.length;
    // A rewrite writes the marker again; the first one has the turn's outcome.
    db.run(
      `UPDATE turns SET commit_end = ?, unfinalized = ?, moved = ?
       WHERE session = ? AND turn = ? AND (commit_end IS NULL OR moved = 1)`,
      end,
      entry.finalized === false ? 1 : 0,
      entry.outcome === "interrupted" && entry.code === ROTATED_CODE ? 1 : 0,
      state.num,
      entry.turnId,
    );
    db.run(
      "UPDATE spans SET end = ? WHERE session = ? AND turn = ? AND end IS NULL",
      end,
      state.num,
      entry.turnId,
    );
  } else if (entry.type === "session_info" && entry.name !== undefined) {
    state.name = entry.name;
  } else if (entry.type === "message") {
    takeMessage(db, state, entry);
  }
  const finalized = finalizedTurn(entry);
  if (finalized !== undefined)
    db.run("UPDATE turns SET unfinalized = 0 WHERE session = ? AND turn = ?", state.num, finalized);
}

function takeMessage(
  db: Database,
  state: SessionRow,
  entry: Extract<TranscriptEntry, { type: "message" }>,
): void {
  if (entry.message.role === "user") state.title ??= titleOf(entry.message) ?? null;
  if (entry.supersedes !== undefined) {
    db.run(
      "INSERT INTO superseded (session, id, by_num) SELECT session, ?, num FROM entries WHERE session = ? AND id = ?",
      entry.supersedes,
      state.num,
      entry.id,
    );
  }
}

/** A turn that continued in another generation and came back is open again. */
function takeTurn(db: Database, session: number, offset: number, turn: string, type: string): void {
  const known = db.get<{ moved: number }>(
    "SELECT moved FROM turns WHERE session = ? AND turn = ?",
    session,
    turn,
  );
  if (!known) db.run("INSERT INTO turns (session, turn, start) VALUES (?, ?, ?)", session, turn, offset);
  else if (known.moved === 1 && type !== "turn_commit")
    db.run("UPDATE turns SET commit_end = NULL, moved = 0 WHERE session = ? AND turn = ?", session, turn);
  db.run(
    `INSERT INTO spans (session, turn, start) SELECT ?, ?, ? WHERE NOT EXISTS
       (SELECT 1 FROM spans WHERE session = ? AND turn = ? AND end IS NULL)`,
    session,
    turn,
    offset,
    session,
    turn,
  );
}

interface TreePlace {
  id: string | null;
  end: number;
  /** Messages from the root to this entry, inclusive. */
  messages: number;
}

function parentPlace(db: Database, state: SessionRow, entry: TranscriptEntry): TreePlace {
  if (entry.parentId !== state.leaf_id) return resolvePlace(db, state.num, entry.parentId);
  return { id: state.leaf_id, end: state.leaf_end, messages: state.leaf_messages };
}

/**
 * The place of an id in the tree. An id whose line is unreadable resolves to the readable entry written before it, so that entries after a
 * lost line continue the conversation.
 */
function resolvePlace(db: Database, session: number, id: string | null): TreePlace {
  const root = { id: null, end: 0, messages: 0 };
  if (id === null) return root;
  const row = entryById(db, session, id) ?? entryBefore(db, session, id);
  if (!row) return root;
  if (row.jump === null) return placeOf(row);
  const target = db.get<EntryRow>(
    "SELECT * FROM entries WHERE session = ? AND offset + length = ?",
    session,
    row.jump,
  );
  return target ? placeOf(target) : { ...root, end: row.jump };
}

function placeOf(row: EntryRow): TreePlace {
  const messages = row.messages + (row.type === "message" ? 1 : 0);
  return { id: row.id, end: row.offset + row.length, messages };
}
