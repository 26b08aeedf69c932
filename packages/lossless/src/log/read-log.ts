/**
 * Brings the database up to the session's log, from the newest entry back to the last one that was read. A database that never read it (it is
 * new, was lost, or is of a version without a log) is compared with all of it, and what only the database has is owed to the log.
 */
import type { TranscriptCursor } from "@pagurus/contract/session/transcript";
import { epochOf, type Volatile } from "../epoch.ts";
import type { EpochRecord } from "../epoch-record.ts";
import { restoreEpoch } from "../summary/restore.ts";
import type { SessionView } from "../session-in-memory.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { NewNode } from "../store/store-types.ts";
import { logRecords, volatileId, type PinRecord, type StateRecord } from "./log-record.ts";
import { defined } from "@pagurus/core/data/defined";

interface Log {
  /** The newest entry; undefined where nothing was new. */
  newest: string | undefined;
  /** Newest first; null: the whole path is shown. */
  epochs: (EpochRecord | null)[];
  /** Oldest entry first. */
  nodes: NewNode[];
  pins: Map<string, PinRecord>;
  state: StateRecord | undefined;
  added: Map<string, Volatile>;
}

/** Reads the entries after `end`; all without it. */
async function logAfter(cursor: TranscriptCursor, sessionId: string, end: string | undefined): Promise<Log> {
  const log: Log = {
    newest: undefined,
    epochs: [],
    nodes: [],
    pins: new Map(),
    state: undefined,
    added: new Map(),
  };
  const nodes: NewNode[][] = [];
  for await (const record of logRecords(cursor, sessionId)) {
    if (record.entryId === end) break;
    log.newest ??= record.entryId;
    if (record.epoch !== undefined) log.epochs.push(record.epoch);
    nodes.push(record.nodes);
    for (const pin of record.pins) if (!log.pins.has(pin.entryId)) log.pins.set(pin.entryId, pin);
    log.state ??= record.state;
    for (const [id, volatile] of Object.entries(record.state?.added ?? {})) log.added.set(id, volatile);
  }
  log.nodes = nodes.reverse().flat();
  return log;
}

/** Call under the session's lock, when the database has the path. Throws the errors of the store and the cursor. */
export async function readLog(
  store: LosslessStore,
  view: SessionView,
  cursor: TranscriptCursor,
): Promise<{ stateChanged: boolean }> {
  const { sessionId } = view;
  const end = store.logEnd(sessionId);
  const log = await logAfter(cursor, sessionId, end?.entryId);
  if (end && log.newest === undefined) return { stateChanged: false };
  const isKnown = !end && store.frontier(sessionId).version > 0;
  takeNodes(store, sessionId, log.nodes);
  takeEpoch(store, view, log, isKnown);
  takePins(store, sessionId, log);
  if (!end) oweRest(store, sessionId, log);
  const stateChanged = takeState(store, sessionId, log, end === undefined);
  store.setLogEnd(sessionId, {
    entryId: log.newest ?? end?.entryId ?? "",
    volatile: log.state?.volatile ?? end?.volatile ?? [],
  });
  return { stateChanged };
}

/** Adds the nodes whose entries the session has; the children of a condensed extract are made again on demand. */
function takeNodes(store: LosslessStore, sessionId: string, nodes: readonly NewNode[]): void {
  for (const node of nodes) {
    if (store.node(node.nodeId)) continue;
    const ends = [node.firstEntryId, node.lastEntryId];
    if (!ends.every((id) => store.locate(sessionId, id))) continue;
    // All or none: what a node summarizes is its children, or its span where it has none.
    const children = node.children.every((id) => store.node(id)) ? node.children : [];
    store.addNode({ ...node, children, state: "prepared" });
  }
}

/** `isKnown`: the database has an epoch that the log was never compared with: it is at least as new, since it is written first. */
function takeEpoch(store: LosslessStore, view: SessionView, { epochs }: Log, isKnown: boolean): void {
  const { sessionId } = view;
  const present = epochOf(store.frontier(sessionId));
  const [newest] = epochs;
  const isSame = (newest?.epoch.id ?? null) === (present?.id ?? null) && newest !== undefined;
  if (isSame || (!isKnown && newest !== undefined))
    store.settleOwed(store.owed(sessionId).filter(({ kind }) => kind === "epoch"));
  if (isSame) return;
  if (isKnown) {
    if (present || newest) store.owe(sessionId, "epoch");
    return;
  }
  for (const epoch of epochs) {
    if (epoch) {
      if (restoreEpoch(store, view, epoch)) return;
      continue;
    }
    if (present) {
      store.publishFrontier(sessionId, view.version, { nodeIds: [], firstKeptEntryId: null });
      view.load();
    }
    return;
  }
}

function takePins(store: LosslessStore, sessionId: string, { pins }: Log): void {
  if (pins.size === 0) return;
  const changed = new Set(store.owed(sessionId).flatMap(({ kind, ref }) => (kind === "pin" ? [ref] : [])));
  for (const { entryId, pinnedAt, note } of pins.values()) {
    if (changed.has(entryId)) continue;
    if (pinnedAt === null) store.unpin(sessionId, entryId);
    else store.pin(sessionId, { entryId, pinnedAt, ...defined({ note }) });
  }
}

/** Takes the pins of the log alone, for a command before the session's first turn with this database. */
export async function readPins(
  store: LosslessStore,
  sessionId: string,
  cursor: TranscriptCursor,
): Promise<void> {
  const log = await logAfter(cursor, sessionId, store.logEnd(sessionId)?.entryId);
  if (log.pins.size > 0) store.openSession(sessionId);
  takePins(store, sessionId, log);
}

/** Owes the log what only the database has: pins, and the summaries that a model wrote or that wait for the next epoch. */
function oweRest(store: LosslessStore, sessionId: string, { pins, nodes }: Log): void {
  store.transaction(() => {
    for (const { entryId } of store.pins(sessionId))
      if (!pins.has(entryId)) store.owe(sessionId, "pin", entryId);
    const known = new Set(nodes.map(({ nodeId }) => nodeId));
    for (const node of store.nodes(sessionId))
      if (!known.has(node.nodeId) && (node.origin === "model" || node.state === "prepared"))
        store.owe(sessionId, "node", node.nodeId);
  });
}

/** Takes the messages without an entry, unless this database's own were not written yet. */
function takeState(store: LosslessStore, sessionId: string, log: Log, isFirst: boolean): boolean {
  const known = (store.sessionState(sessionId) ?? {}) as { volatile?: Volatile[]; declined?: string };
  const own = known.volatile ?? [];
  if (isFirst && (own.length > 0 || known.declined !== undefined)) {
    store.owe(sessionId, "state");
    return false;
  }
  const { state, added } = log;
  if (!state || store.owed(sessionId).some(({ kind }) => kind === "state")) return false;
  const all = new Map([...own.map((each) => [volatileId(each), each] as const), ...added]);
  const volatile = state.volatile.flatMap((id) => all.get(id) ?? []);
  const { drops, declined } = state;
  const { drops: _drops, declined: _declined, ...others } = known as Record<string, unknown>;
  store.setSessionState(sessionId, { keys: [], ...others, volatile, ...defined({ drops, declined }) });
  return true;
}
