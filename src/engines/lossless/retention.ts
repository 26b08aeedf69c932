/**
 * Sessions that nobody has used for long leave the database, where the settings say so. Their transcripts stay as they
 * are: the next turn of such a session takes it in again.
 */
import { randomUUID } from "node:crypto";
import type { LosslessSettings } from "./settings.ts";
import type { LosslessStore } from "./store/store.ts";
import type { SessionInfo } from "./store/types.ts";

const DAY_MS = 86_400_000;
/** A deletion writes the whole file anew, so it is not made after each turn. */
const EVERY_MS = DAY_MS;
const LEASE = "retention";
const LEASE_MS = 10 * 60_000;

const KINDS = [
  "message",
  "compaction",
  "custom",
  "custom_message",
  "model_change",
  "session_info",
  "turn_commit",
] as const;

/** When a session was used last; undefined for an empty one. */
function lastUse(store: LosslessStore, sessionId: string): number | undefined {
  return store.outlineBack(sessionId, { kinds: KINDS, maxMessages: 1 }).items[0]?.time;
}

/** What a transcript could not bring back: pins, and live messages that were never recorded. */
function holdsMore(store: LosslessStore, sessionId: string): boolean {
  const { volatile } = (store.sessionState(sessionId) ?? {}) as { volatile?: unknown };
  return store.pins(sessionId).length > 0 || (Array.isArray(volatile) && volatile.length > 0);
}

/** Whether a session's data may go; `last` is when it was used last, ms. */
export function isTooOld(settings: LosslessSettings, last: number, now: number): boolean {
  const { retentionDays } = settings;
  return retentionDays !== undefined && last < now - retentionDays * DAY_MS;
}

function retired(store: LosslessStore, settings: LosslessSettings, now: number): SessionInfo[] {
  return store.sessions().filter(({ sessionId }) => {
    const last = lastUse(store, sessionId);
    return last !== undefined && isTooOld(settings, last, now) && !holdsMore(store, sessionId);
  });
}

/** Once a day at most, over all processes. Answers how many sessions have left. Throws what the store throws. */
export async function retireSessions(
  store: LosslessStore,
  settings: LosslessSettings,
  now: number,
): Promise<number> {
  if (settings.retentionDays === undefined) return 0;
  if (now - Number(store.meta(RETIRED_AT) ?? 0) < EVERY_MS) return 0;
  const owner = randomUUID();
  if (!store.takeLease({ leaseId: LEASE, owner, now, ttlMs: LEASE_MS })) return 0;
  try {
    const old = retired(store, settings, now).map(({ sessionId }) => sessionId);
    if (old.length > 0) await store.deleteSession(old);
    store.setMeta(RETIRED_AT, String(now));
    return old.length;
  } finally {
    store.releaseLease(LEASE, owner);
  }
}

/** Name of the store's value that says when sessions were looked at last, ms. */
export const RETIRED_AT = "retired_at";
