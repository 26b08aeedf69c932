/** Writes what the session's log lacks: one entry for all that is owed. */
import { isPagurusError } from "@pagurus/contract/errors";
import { epochOf, type Volatile } from "../epoch.ts";
import { recordOf } from "../epoch-record.ts";
import { fresh } from "../summary/publish.ts";
import type { Owed } from "../store/log-state.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import { LOG_VERSION, volatileId, type LogRecord, type StateRecord } from "./log-record.ts";
import { defined } from "@pagurus/core/data/defined";

/** Failures after which the entry is written at a later time: what is owed stays owed. */
const LATER = new Set([
  "session_locked",
  "session_not_found",
  "store_write_failed",
  "store_unreachable",
  "store_full",
  "lock_lost",
]);

export interface LogWriting {
  store: LosslessStore;
  sessionId: string;
  remember(data: unknown): string;
  /** The caller has the session's lock since it read the log: the entry is the newest one that there is. */
  isLive: boolean;
}

/** True when nothing is owed any more. Throws the store's errors, and those of `remember` that are no matter of time. */
export function writeLog({ store, sessionId, remember, isLive }: LogWriting): boolean {
  const owed = store.owed(sessionId);
  if (owed.length === 0) return true;
  const record = recordFor(store, sessionId, owed);
  let entryId: string | undefined;
  try {
    if (record) entryId = remember(record);
  } catch (error) {
    if (isPagurusError(error) && LATER.has(error.code)) return false;
    throw error;
  }
  store.transaction(() => {
    store.settleOwed(owed);
    const end = store.logEnd(sessionId);
    if (!end || entryId === undefined) return;
    store.setLogEnd(sessionId, {
      entryId: isLive ? entryId : end.entryId,
      volatile: record?.state?.volatile ?? end.volatile,
    });
  });
  return true;
}

function recordFor(
  store: LosslessStore,
  sessionId: string,
  owed: readonly Owed[],
): (LogRecord & Record<string, unknown>) | undefined {
  const has = (kind: Owed["kind"]): boolean => owed.some((each) => each.kind === kind);
  const nodes = owed.flatMap((each) => (each.kind === "node" ? (store.node(each.ref) ?? []) : []));
  const epoch = has("epoch") ? presentEpoch(store, sessionId) : undefined;
  const shown = new Set(epoch?.nodeIds);
  const pins = pinsOf(store, sessionId, owed);
  const others = nodes.filter((node) => !shown.has(node.nodeId)).map(fresh);
  const record: LogRecord = {
    version: LOG_VERSION,
    ...(others.length > 0 ? { nodes: others.map(({ sessionId: _session, ...node }) => node) } : {}),
    ...(epoch === undefined ? {} : { epoch: epoch?.entry ?? null }),
    ...(pins.length > 0 ? { pins } : {}),
    ...(has("state") ? { state: stateRecord(store, sessionId) } : {}),
  };
  return Object.keys(record).length > 1 ? { ...record } : undefined;
}

/** Undefined for a session that never had one. */
function presentEpoch(
  store: LosslessStore,
  sessionId: string,
): { nodeIds: readonly string[]; entry: NonNullable<LogRecord["epoch"]> } | null | undefined {
  const frontier = store.frontier(sessionId);
  if (frontier.version === 0) return undefined;
  const epoch = epochOf(frontier);
  if (!epoch) return null;
  const nodes = frontier.nodeIds.flatMap((id) => store.node(id) ?? []).map(fresh);
  const entry = {
    summary: epoch.head,
    firstKeptEntryId: epoch.firstKeptEntryId,
    details: recordOf({ epoch, nodes, made: [] }),
  };
  return { nodeIds: frontier.nodeIds, entry };
}

function pinsOf(
  store: LosslessStore,
  sessionId: string,
  owed: readonly Owed[],
): NonNullable<LogRecord["pins"]> {
  const refs = owed.flatMap(({ kind, ref }) => (kind === "pin" ? [ref] : []));
  if (refs.length === 0) return [];
  const pinned = new Map(store.pins(sessionId).map((pin) => [pin.entryId, pin]));
  return refs.map((entryId) => pinned.get(entryId) ?? { entryId, pinnedAt: null });
}

function stateRecord(store: LosslessStore, sessionId: string): StateRecord {
  const {
    volatile = [],
    drops,
    declined,
  } = (store.sessionState(sessionId) ?? {}) as {
    volatile?: Volatile[];
    drops?: { epoch: string; count: number };
    declined?: string;
  };
  const known = new Set(store.logEnd(sessionId)?.volatile);
  const byId = volatile.map((each) => [volatileId(each), each] as const);
  return {
    volatile: byId.map(([id]) => id),
    added: Object.fromEntries(byId.filter(([id]) => !known.has(id))),
    ...defined({ drops, declined }),
  };
}
