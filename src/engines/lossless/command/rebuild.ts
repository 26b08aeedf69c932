/**
 * Making a store anew from the transcripts. The new database is made in a folder beside the old one, checked, and put
 * in its place in one step; until then the old one is in use as it is.
 */
import { rmSync } from "node:fs";
import { PagurusError } from "../../../contract/errors.ts";
import type { AgentMessage } from "../../../contract/message.ts";
import type { RuntimeContext } from "../../../contract/runtime-context.ts";
import type { TranscriptCursor } from "../../../contract/transcript.ts";
import type { SessionRecord } from "../../../contract/writer.ts";
import { estimateTokens } from "../../../tokens/estimate.ts";
import { messagesTokens, messageTokens } from "../../../tokens/messages.ts";
import { isTooOld } from "../retention.ts";
import { LosslessSession } from "../session.ts";
import { losslessSettings, sessionPolicy, type LosslessSettings } from "../settings.ts";
import { openLosslessStore, type LosslessStore } from "../store/store.ts";
import { carriedFrom, carryInto, NOTHING, type Carried } from "./carry.ts";
import { databaseFile, rebuildFolder, type CarePlace } from "./place.ts";
import { replaceDatabase, withSoleUse } from "./sole-use.ts";

/** How long the swap waits for another process to end its use of the old database, ms. */
const SWAP_WAIT_MS = 10_000;
const PROGRESS_MS = 500;

export interface RebuildOptions {
  signal?: AbortSignal;
  /** Called at the beginning of each session, and now and then while it is read. */
  onProgress?(progress: RebuildProgress): void;
}

export interface RebuildProgress {
  sessionKey: string;
  /** Of the session, from 1 on, and of how many. */
  number: number;
  of: number;
  /** That the session has so far. */
  entries: number;
}

export interface RebuildReport {
  file: string;
  sessions: number;
  entries: number;
  /** Sessions that begin with a summary that their transcript holds. */
  epochs: number;
  /** Sessions that the settings keep out of the store. */
  leftOut: number;
  pins: number;
  /** The old database was too damaged to give its pins. */
  pinsLost: boolean;
}

/** The whole store. Throws `store_write_failed` while another process uses it, `turn_aborted`, what reading throws. */
export async function rebuildStore(place: CarePlace, options: RebuildOptions = {}): Promise<RebuildReport> {
  const { agentDir } = place;
  const file = databaseFile(agentDir);
  const folder = rebuildFolder(agentDir);
  // Told at once, and not after all the work.
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

/** Every generation of one key, in the store as it is. Throws as `rebuildStore`, also while others use the store. */
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

/** What a pin or an unrecorded message holds on to is not too old. */
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
  // First, so that no abort and no failure leaves a pin behind.
  for (const { sessionId, sessionKey } of records) carryInto(store, carried, sessionId, sessionKey);
  const taken = { sessions: records.length, entries: 0, epochs: 0, pins: 0 };
  for (const [index, { sessionId, sessionKey }] of records.entries()) {
    const tell = (): void =>
      onProgress?.({
        sessionKey,
        number: index + 1,
        of: records.length,
        entries: store.session(sessionId)?.entries ?? 0,
      });
    tell();
    const timer = setInterval(tell, PROGRESS_MS);
    const reader = place.transcripts.openReader(sessionKey, sessionId);
    try {
      signal?.throwIfAborted();
      const session = new LosslessSession(store, sessionId, settings);
      const context = quietContext(place, settings, reader.cursor);
      await session.exclusive(() => session.follow(context, { sessionKey, signal }));
      // Says that the session has everything, also where that was little enough to be taken in at once.
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

/** A session is taken over as at its first turn; no model is asked for it. */
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
    tokens: estimate,
    llm: { complete: () => Promise.reject(new PagurusError("internal", "A rebuild asks no model.")) },
    allowDeferredCompactionExecution: false,
    transcript,
  };
}

function estimate(value: string | AgentMessage | readonly AgentMessage[]): number {
  if (typeof value === "string") return estimateTokens(value);
  return Array.isArray(value)
    ? messagesTokens(value as readonly AgentMessage[])
    : messageTokens(value as AgentMessage);
}

async function mustBeWhole(store: LosslessStore): Promise<void> {
  const { ok, problems } = await store.verify();
  if (ok) return;
  throw new PagurusError(
    "store_write_failed",
    `The new database is not whole, so the old one stays in use: ${problems[0] ?? "no reason was given"}`,
    { details: { problems } },
  );
}

/** What was deleted while the database was made must not come back with it. */
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
