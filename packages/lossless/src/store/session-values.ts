/** Rows of sessions, the store's `meta` values, and conversion of SQLite errors. */
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { writeReason, writeReasonAt } from "@pagurus/core/platform/atomic-files";
import type { Database } from "@pagurus/core/data/sqlite";
import { depthOf, entryAt, requireSession, sessionRow, type SessionRow } from "./entries/entry-tree.ts";
import { isDamage } from "./damage.ts";
import { checkedRow } from "./sums.ts";
import type { SessionInfo } from "./store-types.ts";
import { defined } from "@pagurus/core/data/defined";

function sessionInfo(db: Database, row: SessionRow): SessionInfo {
  const leaf = row.leaf === null ? undefined : entryAt(db, row.leaf);
  return {
    sessionId: row.id,
    ...defined({ sessionKey: row.key ?? undefined }),
    leafId: leaf?.id ?? null,
    entries: leaf ? depthOf(db, leaf.num) + 1 : 0,
    tokens: leaf?.total ?? 0,
    adopted: row.adopted === 1,
  };
}

export function listSessions(db: Database): SessionInfo[] {
  return db.snapshot(() =>
    db
      .all<SessionRow>("SELECT * FROM sessions ORDER BY num")
      .map((row) => sessionInfo(db, checkedRow("sessions", row))),
  );
}

export function allSessionIds(db: Database): string[] {
  return db.all<{ id: string }>("SELECT id FROM sessions ORDER BY num").map(({ id }) => id);
}

/** Ids of the sessions with one of these keys, earlier ones of a key too; in order of creation. */
export function sessionIdsOf(db: Database, keys: readonly string[]): string[] {
  return db
    .all<{ id: string }>(
      "SELECT id FROM sessions WHERE key IN (SELECT value FROM json_each(?)) ORDER BY num",
      JSON.stringify(keys),
    )
    .map(({ id }) => id);
}

export function getSession(db: Database, sessionId: string): SessionInfo | undefined {
  return db.snapshot(() => {
    const row = sessionRow(db, sessionId);
    return row && sessionInfo(db, row);
  });
}

/** The session's row, created if missing. Call in a transaction. */
export function ensureSession(db: Database, sessionId: string): SessionRow {
  const known = sessionRow(db, sessionId);
  if (known) return known;
  db.run("INSERT INTO sessions (id) VALUES (?)", sessionId);
  return requireSession(db, sessionId);
}

export function openSession(db: Database, sessionId: string, sessionKey: string | undefined): SessionInfo {
  const known = sessionRow(db, sessionId);
  if (known && (sessionKey === undefined || known.key === sessionKey)) return sessionInfo(db, known);
  return db.transaction(() => {
    const row = ensureSession(db, sessionId);
    if (sessionKey !== undefined) db.run("UPDATE sessions SET key = ? WHERE num = ?", sessionKey, row.num);
    return sessionInfo(db, { ...row, key: sessionKey ?? row.key });
  });
}

export function setAdopted(db: Database, session: number, isAdopted: boolean): void {
  db.run("UPDATE sessions SET adopted = ? WHERE num = ?", isAdopted ? 1 : 0, session);
}

export function getState(db: Database, sessionId: string): unknown {
  const state = sessionRow(db, sessionId)?.state ?? null;
  return state === null ? undefined : (JSON.parse(state) as unknown);
}

export function setState(db: Database, sessionId: string, state: unknown): void {
  db.run(
    "UPDATE sessions SET state = ? WHERE num = ?",
    state === undefined ? null : JSON.stringify(state),
    requireSession(db, sessionId).num,
  );
}

export function getMeta(db: Database, name: string): string | undefined {
  return db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name)?.value;
}

export function setMeta(db: Database, name: string, value: string): void {
  db.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, value);
}

/** Runs a read or a write, and converts SQLite's errors about a full disk, a lock or damage. */
export function guardedRead<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStoreFailure(file, error);
  }
}

export function asStoreFailure(file: string, error: unknown): unknown {
  if (isPagurusError(error)) return error;
  if (isDamage(error))
    return new PagurusError(
      "store_read_failed",
      `${file} is damaged; the next turn sets it aside and makes it again from the transcripts, and so does \`pagurus lossless rebuild\`.`,
      { cause: error, details: { file, damaged: true } },
    );
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown };
  // The error of SQLite's binding when the connection was closed during a call.
  if (code === "ERR_INVALID_STATE")
    return new PagurusError("turn_aborted", "The lossless store was closed.", { cause: error });
  if (typeof errcode !== "number") return error;
  return new PagurusError(
    "store_write_failed",
    `Cannot write to ${file}: ${reasonOf(errcode, error, file)}.`,
    {
      cause: error,
      details: { file, code: errcode },
    },
  );
}

const SQLITE_BUSY = 5;
const READ_ONLY = 8;
const IO_ERROR = 10;

function reasonOf(errcode: number, error: unknown, file: string): string {
  if ((errcode & 0xff) === SQLITE_BUSY) return "another process keeps it locked; end that one or try again";
  const reason = writeReasonAt(error, file);
  if (reason !== writeReason(error)) return reason;
  switch (errcode & 0xff) {
    case READ_ONLY:
      return "it is read-only; check the owner and mode of the file and its folder";
    case IO_ERROR:
      return `the disk refused it (${reason}); check the disk and its free space`;
    default:
      return reason;
  }
}
