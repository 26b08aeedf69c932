import { PagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { NewEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";

/**
 * Appends one entry to a session that no turn is running in. Does not wait for the lock: waiting blocks the whole process, and a turn in it
 * may be the owner. Throws `session_locked`, `session_not_found`, `store_*`.
 */
export function appendBetweenTurns(
  store: SessionStore,
  session: { sessionKey: string; cwd: string; sessionId: string | undefined },
  entry: NewEntry,
): TranscriptEntry {
  const { sessionKey, cwd, sessionId } = session;
  const writer = store.openWriter(sessionKey, { cwd, create: false, deadlineMs: 0 });
  try {
    if (sessionId !== undefined && writer.record.sessionId !== sessionId) throw movedOn(sessionKey);
    return writer.append(entry);
  } finally {
    writer.close();
  }
}

function movedOn(sessionKey: string): PagurusError {
  return new PagurusError(
    "session_not_found",
    `The session "${sessionKey}" has another generation by now, so nothing was written to the former one.`,
  );
}
