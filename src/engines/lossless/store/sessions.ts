/** Rows of sessions, and the store's own values. */
import { PagurusError } from "../../../contract/errors.ts";
import { writeReason } from "../../../platform/files.ts";
import type { Db } from "./db.ts";
import { depthOf, entryAt, requireSession, sessionRow, type SessionRow } from "./tree.ts";
import { isDamage } from "./open.ts";
import { MissingText } from "./texts.ts";
import type { SessionInfo } from "./types.ts";

function infoOf(db: Db, row: SessionRow): SessionInfo {
  const leaf = row.leaf === null ? undefined : entryAt(db, row.leaf);
  return {
    sessionId: row.id,
    ...(row.key === null ? {} : { sessionKey: row.key }),
    leafId: leaf?.id ?? null,
    entries: leaf ? depthOf(db, leaf.num) + 1 : 0,
    tokens: leaf?.total ?? 0,
    adopted: row.adopted === 1,
  };
}

export function listSessions(db: Db): SessionInfo[] {
  return db.snapshot(() =>
    db.all<SessionRow>("SELECT * FROM sessions ORDER BY num").map((row) => infoOf(db, row)),
  );
}

export function getSession(db: Db, sessionId: string): SessionInfo | undefined {
  return db.snapshot(() => {
    const row = sessionRow(db, sessionId);
    return row && infoOf(db, row);
  });
}

/** The session's row, made where there is none. Call in a transaction. */
export function ensureSession(db: Db, sessionId: string): SessionRow {
  const known = sessionRow(db, sessionId);
  if (known) return known;
  db.run("INSERT INTO sessions (id) VALUES (?)", sessionId);
  return requireSession(db, sessionId);
}

export function openSession(db: Db, sessionId: string, sessionKey: string | undefined): SessionInfo {
  const known = sessionRow(db, sessionId);
  if (known && (sessionKey === undefined || known.key === sessionKey)) return infoOf(db, known);
  return db.transaction(() => {
    const row = ensureSession(db, sessionId);
    if (sessionKey !== undefined) db.run("UPDATE sessions SET key = ? WHERE num = ?", sessionKey, row.num);
    return infoOf(db, { ...row, key: sessionKey ?? row.key });
  });
}

export function setAdopted(db: Db, session: number, isAdopted: boolean): void {
  db.run("UPDATE sessions SET adopted = ? WHERE num = ?", isAdopted ? 1 : 0, session);
}

export function getState(db: Db, sessionId: string): unknown {
  const state = sessionRow(db, sessionId)?.state ?? null;
  return state === null ? undefined : (JSON.parse(state) as unknown);
}

export function setState(db: Db, sessionId: string, state: unknown): void {
  db.run(
    "UPDATE sessions SET state = ? WHERE num = ?",
    state === undefined ? null : JSON.stringify(state),
    requireSession(db, sessionId).num,
  );
}

export function getMeta(db: Db, name: string): string | undefined {
  return db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name)?.value;
}

export function setMeta(db: Db, name: string, value: string): void {
  db.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, value);
}

/** Runs a read or a write; what SQLite says of a full disk, a lock or damage becomes an error of ours. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStoreFailure(file, error);
  }
}

export function asStoreFailure(file: string, error: unknown): unknown {
  if (error instanceof PagurusError) return error;
  if (isDamage(error) || error instanceof MissingText)
    return new PagurusError(
      "store_read_failed",
      `${file} is damaged; \`pagurus lossless rebuild\` makes it anew from the transcripts.`,
      { cause: error, details: { file, damaged: true } },
    );
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown };
  // What SQLite's binding says of a connection that was closed while work was under way.
  if (code === "ERR_INVALID_STATE")
    return new PagurusError("turn_aborted", "The lossless store was closed.", { cause: error });
  if (typeof errcode !== "number") return error;
  return new PagurusError("store_write_failed", `Cannot write to ${file}: ${reasonOf(errcode, error)}.`, {
    cause: error,
    details: { file, code: errcode },
  });
}

const BUSY = 5;
const READ_ONLY = 8;
const IO_ERROR = 10;

function reasonOf(errcode: number, error: unknown): string {
  switch (errcode & 0xff) {
    case BUSY:
      return "another process keeps it locked; end that one or try again";
    case READ_ONLY:
      return "it is read-only; check the owner and mode of the file and its folder";
    case IO_ERROR:
      return `the disk refused it (${writeReason(error)}); check the disk and its free space`;
    default:
      return writeReason(error);
  }
}
