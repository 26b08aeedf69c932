/** Before a search beyond this session, where several hosts share their sessions: takes those with its words into the store, and erases deleted ones. */
import type { SharedSearch } from "@pagurus/contract/session/shared-records";
import type { LosslessStore } from "../store/lossless-store.ts";

/** Transcripts of so many bytes together; sessions with newer hits come first. */
const MOST_BYTES = 32 * 1024 * 1024;

export interface OtherSessions {
  /** The session that asks, which its own turn keeps up to date. */
  asking: string;
  shared: SharedSearch;
  signal: AbortSignal;
  /** Only sessions with these keys; absent: all. */
  keys?: readonly string[] | undefined;
  mayKeep(sessionKey: string): boolean;
}

/** Throws `turn_aborted`, `store_read_failed`, `store_write_failed`. */
export async function takeOthers(
  store: LosslessStore,
  query: string,
  { asking, shared, signal, keys, mayKeep }: OtherSessions,
): Promise<void> {
  const gone = shared.deleted(store.sessionIds());
  if (gone.length > 0) await store.deleteSession(gone);
  let bytes = 0;
  for (const found of shared.withWords(query)) {
    const { sessionId, sessionKey } = found;
    if (sessionId === asking || !mayKeep(sessionKey) || (keys && !keys.includes(sessionKey))) continue;
    bytes += found.bytes;
    if (bytes > MOST_BYTES) return;
    const reader = found.open();
    try {
      await store.adopt(sessionId, reader.cursor, { sessionKey, signal });
    } finally {
      reader.close();
    }
  }
}
