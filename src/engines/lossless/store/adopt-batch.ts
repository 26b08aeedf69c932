/** One transaction of an adoption: entries of the active path, and that the session has come so far. */
import type { Db } from "./db.ts";
import { ingest, moveLeaf } from "./ingest.ts";
import type { Prepared } from "./prepare.ts";
import { ensureSession, setAdopted } from "./sessions.ts";

export interface Batch {
  sessionId: string;
  /** True for the batch with which the session has everything. */
  isLast: boolean;
}

/** The session's leaf becomes the last entry, also where it was known: the entries are its path. */
export function takeBatch(
  db: Db,
  { sessionId, isLast }: Batch,
  entries: readonly Prepared[],
): { stored: number; known: number } {
  return db.transaction(() => {
    const session = ensureSession(db, sessionId);
    const { stored, known } = ingest(db, session, entries);
    const last = entries.at(-1);
    if (last && "id" in last) moveLeaf(db, session, last.id);
    if (isLast) setAdopted(db, session.num, true);
    return { stored, known };
  });
}
