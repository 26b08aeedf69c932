/** Erasure of deleted sessions from the server's database. */
import type { Database } from "@pagurus/core/data/sqlite";
import type { WorkPlace } from "./work.ts";

/** Work of a deleted session. */
export interface ErasedWork extends WorkPlace {
  /** Only what was accepted up to this time, ms since the epoch: a later session may have the same key. */
  until: number;
  /** A server runs, whose work without an end is not touched. */
  isServing: boolean;
}

/** Ids of the work that is erased. */
export function erasedWork(db: Database, { agentId, sessionKey, until, isServing }: ErasedWork): string[] {
  const open = isServing ? "AND state = 'ended'" : "AND (state = 'ended' OR started IS NOT NULL)";
  return db
    .all<{ id: string }>(
      `SELECT id FROM work WHERE agent = ? AND session = ? AND posted <= ? ${open}`,
      agentId,
      sessionKey,
      until,
    )
    .map(({ id }) => id);
}

/** Removes work with its events and permission questions; returns the number of rows. */
export function removeWork(db: Database, ids: readonly string[]): number {
  let rows = 0;
  for (const id of ids) {
    rows += db.run("DELETE FROM events WHERE work = ?", id);
    rows += db.run("DELETE FROM approvals WHERE work = ?", id);
    rows += db.run("DELETE FROM work WHERE id = ?", id);
  }
  return rows;
}
