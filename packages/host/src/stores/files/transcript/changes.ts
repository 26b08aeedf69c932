/**
 * Changes that another program made to a transcript. Kept in the index until a writer opens the session, because the command that detects a
 * change first (a listing, a search) often cannot report it.
 */
import type { OpenNotice } from "@pagurus/contract/session/writer";
import type { Database } from "@pagurus/core/data/sqlite";

const name = (sessionId: string): string => `changed:${sessionId}`;

/** Ids of the session's entries in the index. */
export function knownIds(db: Database, session: number): string[] {
  return db.all<{ id: string }>("SELECT id FROM entries WHERE session = ?", session).map(({ id }) => id);
}

function lostEntries(db: Database, sessionId: string): number | undefined {
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name(sessionId));
  return row && Number(row.value);
}

/** Records that a session was indexed again, and how many of the former entries it no longer has. */
export function noteChange(
  db: Database,
  sessionId: string,
  session: number,
  before: readonly string[],
): number {
  const now = new Set(knownIds(db, session));
  const lost = before.filter((id) => !now.has(id)).length;
  const sum = lost + (lostEntries(db, sessionId) ?? 0);
  db.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name(sessionId), String(sum));
  return lost;
}

export function changeNotices(db: Database, sessionId: string): OpenNotice[] {
  const lost = lostEntries(db, sessionId);
  if (lost === undefined) return [];
  const gone =
    lost === 0
      ? ""
      : `, and ${lost} ${lost === 1 ? "entry that was in it is" : "entries that were in it are"} gone or cannot be read any more`;
  const detail = `The transcript of session ${sessionId} was changed by another program${gone}; its index was built again.`;
  return [{ kind: "index_rebuilt", detail }];
}

/** Call when the notice was reported, and when the session is deleted. */
export function forgetChange(db: Database, sessionId: string): void {
  db.run("DELETE FROM meta WHERE name = ?", name(sessionId));
}
