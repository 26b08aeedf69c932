/**
 * What another program did to a transcript. It is remembered in the index until a writer opens the session, because
 * the command that notices it first (a listing, a search) is often not the one that can tell it.
 */
import type { OpenNotice } from "../contract/writer.ts";
import type { IndexDb } from "./index-db.ts";

const name = (sessionId: string): string => `changed:${sessionId}`;

/** Ids of the entries that the index knows of a session. */
export function knownIds(db: IndexDb, session: number): string[] {
  return db.all<{ id: string }>("SELECT id FROM entries WHERE session = ?", session).map(({ id }) => id);
}

function lostEntries(db: IndexDb, sessionId: string): number | undefined {
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name(sessionId));
  return row && Number(row.value);
}

/** Remembers that a session was indexed anew, and how many of the entries known before are not in it now. */
export function noteChange(
  db: IndexDb,
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

export function changeNotices(db: IndexDb, sessionId: string): OpenNotice[] {
  const lost = lostEntries(db, sessionId);
  if (lost === undefined) return [];
  const gone =
    lost === 0
      ? ""
      : `, and ${lost} ${lost === 1 ? "entry that was in it is" : "entries that were in it are"} gone or cannot be read any more`;
  const detail = `The transcript of session ${sessionId} was changed by another program${gone}; its index was built again.`;
  return [{ kind: "index_rebuilt", detail }];
}

/** Call when the notice was given, and when the session is deleted. */
export function forgetChange(db: IndexDb, sessionId: string): void {
  db.run("DELETE FROM meta WHERE name = ?", name(sessionId));
}
