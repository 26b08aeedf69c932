/**
 * Removes sessions from the database that were unused for the configured time. Their transcripts stay unchanged: the
 * next turn of such a session adopts it again.
 */
import { DAY_MS } from "@pagurus/core/data/interval";
import { randomUUID } from "node:crypto";
import type { LosslessSettings } from "./lossless-settings.ts";
import type { LosslessStore } from "./store/lossless-store.ts";
import type { SessionInfo } from "./store/store-types.ts";

/** Interval of the check: a deletion rewrites the whole file, so it does not run after each turn. */
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

/** Time of a session's last use; undefined for an empty one. */
function lastUse(store: LosslessStore, sessionId: string): number | undefined {
  return store.outlineBack(sessionId, { kinds: KINDS, maxMessages: 1 }).items[0]?.time;
}

/** Whether the store has data that no transcript could restore: pins, and live messages that were never recorded. */
function holdsMore(store: LosslessStore, sessionId: string): boolean {
  const { volatile } = (store.sessionState(sessionId) ?? {}) as { volatile?: unknown };
  return store.pins(sessionId).length > 0 || (Array.isArray(volatile) && volatile.length > 0);
}

/** Whether a session may be removed; `last` is the time of its last use, ms. */
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

/** Removes old sessions, at most once a day over all processes. Returns their number. Throws the store's errors. */
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

/** Name of the store's value with the time of the last check, ms. */
export const RETIRED_AT = "retired_at";
