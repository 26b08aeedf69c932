/** Runs due work now: summaries of every session, then the index, then vectors where an encoder is used. The report is read from the store itself. */
import { HOUR_MS } from "@pagurus/core/data/interval";
import { losslessSettings, sessionPolicy } from "../lossless-settings.ts";
import { FEWEST_MERGED, indexSome, mergeIndex } from "../store/search/backlog.ts";
import { countVectors } from "../store/search/vectors.ts";
import { openLosslessStore } from "../store/lossless-store.ts";
import { orAborted } from "@pagurus/core/platform/deadline";
import type { Database } from "@pagurus/core/data/sqlite";
import { spentSince } from "../store/ledger.ts";
import { countDebts, countSummaries, countUnindexed, withDatabase, type DebtCount } from "./census.ts";
import { requireDatabase, type CarePlace } from "./store-files.ts";

const INDEX_TEXTS = 600;
const MERGE_PAGES = 256;
/** Consecutive failures after which the model is not called again. */
const MOST_IN_A_ROW = 2;

export interface WorkOptions {
  /** Runs the engine's maintenance of one session; returns the reason when it was skipped. */
  maintain(sessionKey: string, signal: AbortSignal): Promise<string | undefined>;
  signal: AbortSignal;
  onSession?(sessionKey: string): void;
}

export interface WorkReport {
  sessions: number;
  /** Parts of conversations that were made into extracts. */
  parts: number;
  /** Summaries that a model wrote. */
  summaries: number;
  spent: { calls: number; tokens: number; cost: number };
  indexed: number;
  /** Messages of talk that got a vector; 0 without an encoder. */
  encoded: number;
  debts: DebtCount;
  /** Calls of models that failed. */
  failed: number;
  /** `time`: the signal fired before all was done. `waiting`: the due work cannot be done now. */
  end: "done" | "time" | "waiting";
  /** Reasons for waiting, one sentence each. */
  notes: string[];
}

interface Counts {
  parts: number;
  summaries: number;
  debts: DebtCount;
  /** Attempts of each debt. */
  tries: ReadonlyMap<string, number>;
}

function countsOf(file: string, sessionId?: string): Counts {
  return withDatabase(file, (db) => {
    const summaries = countSummaries(db, sessionId);
    const byModel = summaries.filter(({ origin }) => origin === "model");
    const sum = (counted: readonly { count: number }[]): number =>
      counted.reduce((total, { count }) => total + count, 0);
    return {
      parts: sum(summaries) - sum(byModel),
      summaries: sum(byModel),
      debts: countDebts(db, Date.now(), sessionId),
      tries: new Map(
        db
          .all<{ id: string; attempts: number }>(
            "SELECT id, attempts FROM debts WHERE (?1 IS NULL OR session = (SELECT num FROM sessions WHERE id = ?1))",
            sessionId ?? null,
          )
          .map(({ id, attempts }) => [id, attempts]),
      ),
    };
  });
}

function failuresBetween(before: Counts, after: Counts): number {
  let failures = 0;
  for (const [id, attempts] of after.tries) failures += Math.max(0, attempts - (before.tries.get(id) ?? 0));
  return failures;
}

/** Works until nothing is due, nothing makes progress, or the signal fires. Throws the errors of the store and `maintain`. */
export async function workStore(place: CarePlace, options: WorkOptions): Promise<WorkReport> {
  const file = requireDatabase(place);
  const started = Date.now();
  const before = countsOf(file);
  const settings = losslessSettings(place.config);
  const known = new Set(
    withDatabase(file, (db) => db.all<{ id: string }>("SELECT id FROM sessions").map(({ id }) => id)),
  );
  const sessions = place.transcripts.list().filter(({ sessionKey, sessionId, current }) => {
    return current && known.has(sessionId) && sessionPolicy(settings, sessionKey) === "kept";
  });
  const notes = new Set<string>();
  const progress = { failed: 0, inARow: 0 };
  for (const { sessionKey, sessionId } of sessions) {
    if (options.signal.aborted || progress.inARow >= MOST_IN_A_ROW) break;
    options.onSession?.(sessionKey);
    await workSession(file, { sessionKey, sessionId }, options, { notes, progress });
  }
  const indexed = withDatabase(file, (db) => indexAll(db, options.signal));
  const encoded = settings.encoder ? await encodeAll(place, file, options.signal, notes) : 0;
  const after = countsOf(file);
  const isOver = options.signal.aborted;
  if (progress.inARow >= MOST_IN_A_ROW)
    notes.add(
      "The model failed several times in a row, so the rest was not tried; each is tried again later.",
    );
  else if (after.debts.due > 0 && !isOver) notes.add(whyWaiting(file, settings.summariesPerHour));
  return {
    sessions: sessions.length,
    parts: after.parts - before.parts,
    summaries: after.summaries - before.summaries,
    spent: withDatabase(file, (db) => spentSince(db, started)),
    indexed,
    encoded,
    debts: after.debts,
    failed: progress.failed,
    end: isOver ? "time" : after.debts.due > 0 ? "waiting" : "done",
    notes: [...notes],
  };
}

async function workSession(
  file: string,
  { sessionKey, sessionId }: { sessionKey: string; sessionId: string },
  { maintain, signal }: WorkOptions,
  { notes, progress }: { notes: Set<string>; progress: { failed: number; inARow: number } },
): Promise<void> {
  for (let last = countsOf(file, sessionId); !signal.aborted && progress.inARow < MOST_IN_A_ROW;) {
    const problem = await maintain(sessionKey, signal);
    if (problem !== undefined) {
      if (!signal.aborted) notes.add(problem);
      return;
    }
    const now = countsOf(file, sessionId);
    const failures = failuresBetween(last, now);
    progress.failed += failures;
    progress.inARow = now.summaries > last.summaries ? failures : progress.inARow + failures;
    // A failed debt backs off and the next one is tried; when nothing has changed, nothing will.
    if (now.parts <= last.parts && now.summaries <= last.summaries && failures === 0) return;
    last = now;
  }
}

function whyWaiting(file: string, cap: number): string {
  const { calls } = withDatabase(file, (db) => spentSince(db, Date.now() - HOUR_MS));
  return calls >= cap
    ? `The ${cap} model calls of this hour are spent (summariesPerHour); the rest is due when they are not.`
    : "Summaries are due and no model writes them: the offline model cannot, or another process works on them.";
}

/** Indexes every stored text and merges the index; nothing else waits in this process. Returns the number of texts. */
function indexAll(db: Database, signal: AbortSignal): number {
  const waiting = countUnindexed(db);
  while (!signal.aborted && indexSome(db, INDEX_TEXTS));
  const left = countUnindexed(db);
  while (!signal.aborted && mergeIndex(db, MERGE_PAGES, FEWEST_MERGED.unhurried));
  db.raw.exec("PRAGMA wal_checkpoint(PASSIVE)");
  return waiting - left;
}

/** Gives every message of talk a vector. Returns their number; a failure of the encoder becomes a note. Throws the store's errors. */
async function encodeAll(
  { agentDir }: CarePlace,
  file: string,
  signal: AbortSignal,
  notes: Set<string>,
): Promise<number> {
  if (signal.aborted) return 0;
  const { EncoderThread } = await import("../encoder/encoder-thread.ts");
  const before = withDatabase(file, countVectors).encoded;
  const encoder = new EncoderThread();
  const store = openLosslessStore(agentDir, encoder);
  try {
    await orAborted(store.encoded(), signal);
  } catch (error) {
    if (encoder.failure) notes.add(encoder.failure.message);
    else if (!signal.aborted) throw error;
  } finally {
    await store.close();
    await encoder.close();
  }
  return withDatabase(file, countVectors).encoded - before;
}
