/** One transaction of an adoption: entries of the active path, and the session's progress. */
import type { Database } from "@pagurus/core/data/sqlite";
import { ingest, moveLeaf } from "./ingest.ts";
import type { Prepared } from "./prepare-entry.ts";
import { ensureSession, setAdopted } from "../session-values.ts";

export interface Batch {
  sessionId: string;
  /** True for the last batch of an adoption. */
  isLast: boolean;
}

/** Stores the batch. The session's leaf becomes the last entry, even a known one: the entries are its path. */
export function takeBatch(
  db: Database,
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
