/**
 * What the session's log lacks of this database, and up to where the database has followed it. The two are written one after the other, and
 * either may be cut off: what is owed stays until an entry has it, and an entry is read until its end is noted.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import { requireSession } from "./entries/entry-tree.ts";

/** `pin`: the entry's pin as it is now, or that it has none. `node`: a summary. `epoch`, `state`: the present one; `ref` is empty. */
export type OwedKind = "pin" | "node" | "epoch" | "state";

export interface Owed {
  /** Changes when the same is owed again, so that a later change is not settled with an earlier one. */
  num: number;
  kind: OwedKind;
  /** Id of the entry or of the node. */
  ref: string;
}

export interface LogEnd {
  /** The newest entry of the log that was read; empty where the log had none. */
  entryId: string;
  /** Ids of the messages without an entry that the log has (`volatileId`). */
  volatile: readonly string[];
}

/** Throws `session_not_found`. */
export function owe(db: Database, sessionId: string, kind: OwedKind, ref: string): void {
  const { num } = requireSession(db, sessionId);
  db.run("INSERT OR REPLACE INTO owed (session, kind, ref) VALUES (?, ?, ?)", num, kind, ref);
}

/** In the order in which they came up. */
export function owedOf(db: Database, sessionId: string): Owed[] {
  return db.all<Owed>(
    "SELECT o.num, o.kind, o.ref FROM owed o JOIN sessions s ON s.num = o.session WHERE s.id = ? ORDER BY o.num",
    sessionId,
  );
}

export function settleOwed(db: Database, owed: readonly Owed[]): void {
  for (const { num } of owed) db.run("DELETE FROM owed WHERE num = ?", num);
}

/** Undefined where the log was never read. */
export function logEnd(db: Database, sessionId: string): LogEnd | undefined {
  const row = db.get<{ entry: string; volatile: string }>(
    "SELECT l.entry, l.volatile FROM logs l JOIN sessions s ON s.num = l.session WHERE s.id = ?",
    sessionId,
  );
  return row && { entryId: row.entry, volatile: JSON.parse(row.volatile) as string[] };
}

/** Throws `session_not_found`. */
export function setLogEnd(db: Database, sessionId: string, { entryId, volatile }: LogEnd): void {
  const { num } = requireSession(db, sessionId);
  db.run(
    "INSERT OR REPLACE INTO logs (session, entry, volatile) VALUES (?, ?, ?)",
    num,
    entryId,
    JSON.stringify(volatile),
  );
}
