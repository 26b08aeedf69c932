/**
 * Rebuilds a store from the transcripts. The new database is built in a folder beside the old one, checked, and swapped
 * in atomically; until then the old one stays in use.
 */
import { rmSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import type { TranscriptCursor } from "@pagurus/contract/session/transcript";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { countTokens } from "@pagurus/core/tokens/message-tokens";
import { isTooOld } from "../retention.ts";
import { LosslessSession } from "../lossless-session.ts";
import { losslessSettings, sessionPolicy, type LosslessSettings } from "../lossless-settings.ts";
import { openLosslessStore, type LosslessStore } from "../store/lossless-store.ts";
import { carriedFrom, carryInto, NOTHING, type Carried } from "./carry.ts";
import { databaseFile, rebuildFolder, type CarePlace } from "./store-files.ts";
import { replaceDatabase, withSoleUse } from "./sole-use.ts";

/** Timeout of the swap while another process uses the old database, ms. */
const SWAP_WAIT_MS = 10_000;
const REBUILD_PROGRESS_MS = 500;

export interface RebuildOptions {
  signal?: AbortSignal;
  /** Called at the start of each session, and periodically while it is read. */
  onProgress?(progress: RebuildProgress): void;
}

export interface RebuildProgress {
  sessionKey: string;
  /** 1-based number of the session, and the total. */
  number: number;
  of: number;
  /** Entries of the session so far. */
  entries: number;
}

export interface RebuildReport {
  file: string;
  sessions: number;
  entries: number;
  /** Sessions that begin with a summary from their transcript. */
  epochs: number;
  /** Sessions that the settings exclude from the store. */
  leftOut: number;
  pins: number;
  /** The old database was too damaged to recover its pins. */
  pinsLost: boolean;
}

/** Rebuilds the whole store. Throws `store_write_failed` while another process uses it, `turn_aborted`, and read errors. */
export async function rebuildStore(place: CarePlace, options: RebuildOptions = {}): Promise<RebuildReport> {
  const { agentDir } = place;
  const file = databaseFile(agentDir);
  const folder = rebuildFolder(agentDir);
  // Fails at once instead of after all the work.
  await withSoleUse(file, 0, () => undefined);
  rmSync(folder, { recursive: true, force: true });
  try {
    const carried = carriedFrom(file);
    const settings = losslessSettings(place.config);
    const all = place.transcripts.list().toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1));
    const records = all.filter((record) => isWanted(record, settings, carried));
    const store = openLosslessStore(folder);
    let report: RebuildReport;
    try {
      const taken = await takeAll(place, store, records, carried ?? NOTHING, options);
      report = { file, ...taken, leftOut: all.length - records.length, pinsLost: carried === undefined };
      await mustBeWhole(store);
    } finally {
      await store.close();
    }
    await replaceDatabase(databaseFile(folder), file, SWAP_WAIT_MS);
    await forgetDeleted(place);
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Rebuilds every generation of one key in the existing store. Throws as `rebuildStore`, also while others use the store. */
export async function rebuildSession(
  place: CarePlace,
  sessionKey: string,
  options: RebuildOptions = {},
): Promise<RebuildReport> {
  const file = databaseFile(place.agentDir);
  const settings = losslessSettings(place.config);
  const carried = carriedFrom(file);
  const all = place.transcripts.list().filter((record) => record.sessionKey === sessionKey);
  const records = all.filter((record) => isWanted(record, settings, carried));
  const store = openLosslessStore(place.agentDir);
  try {
    const stored = store.sessions().filter((session) => session.sessionKey === sessionKey);
    if (all.length === 0 && stored.length === 0) {
      throw new PagurusError(
        "session_not_found",
        `There is no session "${sessionKey}"; \`pagurus sessions list\` names them.`,
      );
    }
    const ids = new Set([...all, ...stored].map(({ sessionId }) => sessionId));
    await store.deleteSession([...ids]);
    const taken = await takeAll(place, store, records, carried ?? NOTHING, options);
    return { file, ...taken, leftOut: all.length - records.length, pinsLost: carried === undefined };
  } finally {
    await store.close();
  }
}

/** Whether a session is rebuilt: one with pins or unrecorded messages is kept whatever its age. */
function isWanted(record: SessionRecord, settings: LosslessSettings, carried: Carried | undefined): boolean {
  const { sessionKey, sessionId, updatedAt } = record;
  if (sessionPolicy(settings, sessionKey) !== "kept") return false;
  return carried?.pins.has(sessionId) === true || !isTooOld(settings, Date.parse(updatedAt), Date.now());
}

async function takeAll(
  place: CarePlace,
  store: LosslessStore,
  records: readonly SessionRecord[],
  carried: Carried,
  { signal, onProgress }: RebuildOptions,
): Promise<Pick<RebuildReport, "sessions" | "entries" | "epochs" | "pins">> {
  const settings = losslessSettings(place.config);
  // First, so that no abort and no failure loses a pin.
  for (const { sessionId, sessionKey } of records) carryInto(store, carried, sessionId, sessionKey);
  const taken = { sessions: records.length, entries: 0, epochs: 0, pins: 0 };
  for (const [index, { sessionId, sessionKey }] of records.entries()) {
    const report = (): void =>
      onProgress?.({
        sessionKey,
        number: index + 1,
        of: records.length,
        entries: store.session(sessionId)?.entries ?? 0,
      });
    report();
    const timer = setInterval(report, REBUILD_PROGRESS_MS);
    const reader = place.transcripts.openReader(sessionKey, sessionId);
    try {
      signal?.throwIfAborted();
      const session = new LosslessSession(store, sessionId, settings);
      const context = quietContext(place, settings, reader.cursor);
      await session.exclusive(() => session.follow(context, { sessionKey, signal }));
      // Marks the session as fully adopted, also when it was small enough to be adopted at once.
      await store.adopt(sessionId, reader.cursor, { sessionKey });
      taken.entries += store.session(sessionId)?.entries ?? 0;
      taken.pins += store.pins(sessionId).length;
      if (session.view.epoch) taken.epochs += 1;
    } catch (error) {
      throw signal?.aborted
        ? new PagurusError("turn_aborted", "The rebuild was aborted.", { cause: error })
        : error;
    } finally {
      clearInterval(timer);
      reader.close();
    }
  }
  await store.indexed();
  return taken;
}

/** Runtime context for adopting a session as at its first turn; calls no model. */
function quietContext(
  { config, agentDir }: CarePlace,
  settings: LosslessSettings,
  transcript: TranscriptCursor,
): RuntimeContext {
  return {
    config,
    provider: "none",
    model: "none/none",
    modelId: "none",
    agentId: "",
    agentHarnessId: "",
    cwd: agentDir,
    contextWindow: settings.trigger,
    tokenBudget: settings.trigger,
    tokens: countTokens,
    llm: { complete: () => Promise.reject(new PagurusError("internal", "A rebuild calls no model.")) },
    allowDeferredCompactionExecution: false,
    transcript,
  };
}

async function mustBeWhole(store: LosslessStore): Promise<void> {
  const { ok, problems } = await store.verify();
  if (ok) return;
  throw new PagurusError(
    "store_write_failed",
    `The new database is not whole, so the old one stays in use: ${problems[0] ?? "the check gave no reason"}`,
    { details: { problems } },
  );
}

/** Removes sessions that were deleted while the database was built. */
async function forgetDeleted({ agentDir, transcripts }: CarePlace): Promise<void> {
  const store = openLosslessStore(agentDir);
  try {
    const known = new Set(transcripts.list().map(({ sessionId }) => sessionId));
    const gone = store.sessions().filter(({ sessionId }) => !known.has(sessionId));
    if (gone.length > 0) await store.deleteSession(gone.map(({ sessionId }) => sessionId));
  } finally {
    await store.close();
  }
}
