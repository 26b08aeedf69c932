/** Exports the sessions of a store as JSON lines: entries, summaries and their sources. */
import type { LosslessStore } from "../store/lossless-store.ts";
import type { EntryKind, SessionInfo } from "../store/store-types.ts";
import { requireDatabase, type CarePlace } from "./store-files.ts";
import { openLosslessStore } from "../store/lossless-store.ts";
import { defined } from "@pagurus/core/data/defined";

const KINDS: readonly EntryKind[] = [
  "message",
  "compaction",
  "custom",
  "custom_message",
  "model_change",
  "session_info",
  "turn_commit",
];
const PAGE = 200;

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** Exports the sessions of one key (every generation), or all. Throws the store's errors. */
export async function* exportStore(
  place: CarePlace,
  sessionKey: string | undefined,
): AsyncGenerator<string, void, undefined> {
  requireDatabase(place);
  const store = openLosslessStore(place.agentDir);
  try {
    for (const session of store.sessions()) {
      if (sessionKey !== undefined && session.sessionKey !== sessionKey) continue;
      yield line({ type: "session", ...session });
      yield* exportedEntries(store, session);
      yield* derivedOf(store, session);
    }
  } finally {
    await store.close();
  }
}

/** Entries of the active path; abandoned branches are only in the transcript. */
function* exportedEntries(store: LosslessStore, { sessionId, leafId }: SessionInfo): Generator<string> {
  const first = store.at(sessionId, 0)?.entryId;
  if (first === undefined || leafId === null) return;
  let after: string | undefined;
  do {
    const page = store.range(sessionId, first, leafId, { kinds: KINDS, limit: PAGE, ...defined({ after }) });
    for (const { time, ...entry } of page.items)
      yield line({ type: "entry", sessionId, time: new Date(time).toISOString(), ...entry });
    after = page.next;
  } while (after !== undefined);
}

function* derivedOf(store: LosslessStore, { sessionId }: SessionInfo): Generator<string> {
  for (const { order: _, ...node } of store.nodes(sessionId)) yield line({ type: "summary", ...node });
  const frontier = store.frontier(sessionId);
  if (frontier.version > 0) yield line({ type: "epoch", ...frontier, sessionId });
  for (const { pinnedAt, ...pin } of store.pins(sessionId))
    yield line({ type: "pin", sessionId, pinnedAt: new Date(pinnedAt).toISOString(), ...pin });
  for (const { nextAt, ...debt } of store.debts({ sessionId }))
    yield line({ type: "debt", nextAt: new Date(nextAt).toISOString(), ...debt });
}
