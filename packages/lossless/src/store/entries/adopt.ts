/** Adopts transcripts: new entries of the active path, and the position of the leaf. */
import { setImmediate } from "node:timers/promises";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { orAborted } from "@pagurus/core/platform/deadline";
import { takeBatch } from "./adopt-batch.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { moveLeaf } from "./ingest.ts";
import { asStoreFailure, ensureSession, setAdopted, guardedRead } from "../session-values.ts";
import { prepareRest, prepareSmall, sizeOf, type Prepared, type Raw } from "./prepare-entry.ts";
import { entryAt, resolve, sessionRow } from "./entry-tree.ts";
import type { StoreThread } from "../worker-thread.ts";
import type { AdoptOptions, IngestResult } from "../store-types.ts";

/** Limit on entries that are written directly on the main thread; more go to the worker. */
const SMALL = 20;
/** Limits on a batch for the worker: entries and characters. */
const BATCH = 100;
const BATCH_CHARACTERS = 500_000;
/** Time slice for preparing entries on this thread, before it yields to other work. Milliseconds. */
const SLICE_MS = 3;
/** Limit on batches in flight while the transcript is read; the worker writes all queued ones in one transaction. */
const ENTRIES_AHEAD = 16;

export interface Home {
  db: Database;
  file: string;
  thread: StoreThread;
}

interface Rest {
  /** Last common entry of the session and the transcript's path; null for the start of the path. */
  known: string | null;
  /** The path after it. */
  entries: AsyncIterable<TranscriptEntry>;
}

/** The part of the transcript's path that the session lacks. */
async function restOf(db: Database, sessionId: string, cursor: TranscriptCursor): Promise<Rest> {
  const session = sessionRow(db, sessionId);
  const leaf = session?.leaf == null ? undefined : entryAt(db, session.leaf)?.id;
  if (!session || leaf === undefined) return { known: null, entries: cursor.forward() };
  const newer = await startedWalk(cursor.forward(leaf));
  if (newer) return { known: leaf, entries: newer };
  // The leaf is no longer on the path: goes back to the fork of the branches.
  for await (const entry of cursor.backward())
    if (resolve(db, session.num, entry.id) !== undefined)
      return { known: entry.id, entries: cursor.forward(entry.id) };
  return { known: null, entries: cursor.forward() };
}

/** Starts the walk; undefined when its entry is not on the path. */
async function startedWalk(
  walk: AsyncIterable<TranscriptEntry>,
): Promise<AsyncIterable<TranscriptEntry> | undefined> {
  const iterator = walk[Symbol.asyncIterator]();
  let first: IteratorResult<TranscriptEntry>;
  try {
    first = await iterator.next();
  } catch (error) {
    if (isPagurusError(error) && error.code === "entry_not_found") return undefined;
    throw error;
  }
  return (async function* () {
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
  })();
}

/** The running adoptions, by session. */
export class Adoptions {
  readonly #home: Home;
  readonly #running = new Map<Promise<unknown>, { sessionId: string; controller: AbortController }>();
  /** Their sessions. */
  readonly sessions: string[] = [];

  constructor(home: Home) {
    this.#home = home;
  }

  /** Runs an adoption, after those of the session that are running. Throws `turn_aborted`, `store_write_failed`, and the cursor's errors. */
  async run(sessionId: string, cursor: TranscriptCursor, options: AdoptOptions): Promise<IngestResult> {
    const controller = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, controller.signal]) : controller.signal;
    const start = adopt.bind(undefined, this.#home, sessionId, cursor, { ...options, signal });
    // Two at once would move the session's leaf back and forth.
    const running = this.sessions.includes(sessionId) ? this.#after(sessionId, signal).then(start) : start();
    this.#running.set(running, { sessionId, controller });
    this.sessions.push(sessionId);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      this.sessions.splice(this.sessions.indexOf(sessionId), 1);
    }
  }

  /** Resolves when the running adoptions of a session have ended. Throws `turn_aborted`. */
  async #after(sessionId: string, signal: AbortSignal): Promise<void> {
    const all = [...this.#running];
    const ofIt = all.flatMap(([running, of]) => (of.sessionId === sessionId ? [running] : []));
    await orAborted(Promise.allSettled(ofIt), signal);
  }

  /** Aborts the adoptions of some sessions (default: all); resolves when they have ended. */
  async stop(sessionIds?: readonly string[]): Promise<void> {
    const stopped: Promise<unknown>[] = [];
    for (const [running, { sessionId, controller }] of this.#running) {
      if (sessionIds && !sessionIds.includes(sessionId)) continue;
      controller.abort();
      stopped.push(running);
    }
    await Promise.allSettled(stopped);
  }
}

async function adopt(
  home: Home,
  sessionId: string,
  cursor: TranscriptCursor,
  options: AdoptOptions,
): Promise<IngestResult> {
  const { db, file } = home;
  const { known, entries } = await restOf(db, sessionId, cursor);
  const isKnown = sessionRow(db, sessionId)?.adopted === 1;
  guardedRead(file, () =>
    db.transaction(() => {
      const session = ensureSession(db, sessionId);
      if (!isKnown) setAdopted(db, session.num, false);
      moveLeaf(db, session, known);
    }),
  );
  const adoption = new Adoption(home, sessionId, options);
  try {
    for await (const entry of entries) {
      const pause = adoption.add(entry);
      if (pause) await pause;
    }
    await adoption.finish();
  } finally {
    await adoption.settled();
  }
  return { ...adoption.total, leafId: adoption.leafId ?? known };
}

/** Collects entries into batches; when there are only a few, they are written directly. */
class Adoption {
  readonly total = { stored: 0, known: 0 };
  leafId: string | null = null;
  readonly #home: Home;
  readonly #sessionId: string;
  readonly #options: AdoptOptions;
  #batch: (Prepared | Raw)[] = [];
  #characters = 0;
  #usesThread = false;
  readonly #underway: Promise<void>[] = [];
  #sliceEnd = performance.now() + SLICE_MS;

  constructor(home: Home, sessionId: string, options: AdoptOptions) {
    this.#home = home;
    this.#sessionId = sessionId;
    this.#options = options;
  }

  /** Adds an entry; returns a promise when the caller has to wait. */
  add(entry: TranscriptEntry): Promise<void> | undefined {
    if (this.#options.signal?.aborted)
      throw new PagurusError(
        "turn_aborted",
        "The adoption of the transcript was aborted; the next one continues from there.",
        { cause: this.#options.signal.reason },
      );
    this.#batch.push(prepareSmall(entry));
    this.#characters += sizeOf(entry);
    this.leafId = entry.id;
    if (this.#batch.length >= BATCH || this.#characters >= BATCH_CHARACTERS) {
      this.#send(false);
      if (this.#underway.length >= ENTRIES_AHEAD) return this.#written();
    }
    return performance.now() < this.#sliceEnd ? undefined : this.#slice();
  }

  async finish(): Promise<void> {
    const { db, file, thread } = this.#home;
    if (!this.#usesThread && this.#batch.length <= SMALL && this.#characters < BATCH_CHARACTERS / 4) {
      const batch = { sessionId: this.#sessionId, isLast: true };
      const entries = this.#batch.map(prepareRest);
      this.#count(guardedRead(file, () => takeBatch(db, batch, entries)));
      return;
    }
    this.#send(true);
    while (this.#underway.length > 0) await this.#written();
    if (this.#options.index === "later") return;
    await thread.ask("index", null).catch((error: unknown) => {
      throw asStoreFailure(file, error);
    });
  }

  /** Resolves when all writes have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underway);
  }

  async #slice(): Promise<void> {
    await setImmediate();
    this.#sliceEnd = performance.now() + SLICE_MS;
  }

  async #written(): Promise<void> {
    await this.#underway.shift();
    this.#sliceEnd = performance.now() + SLICE_MS;
  }

  #send(isLast: boolean): void {
    const { thread, file } = this.#home;
    this.#usesThread = true;
    const { index = "now" } = this.#options;
    const ask = { sessionId: this.#sessionId, isLast, entries: this.#batch, index };
    this.#batch = [];
    this.#characters = 0;
    const sent = thread.ask("batch", ask).then(
      (answer) => this.#count(answer),
      (error: unknown) => {
        throw asStoreFailure(file, error);
      },
    );
    // Awaited later; this handler only prevents an unhandled rejection until then.
    sent.catch(() => undefined);
    this.#underway.push(sent);
  }

  #count({ stored, known }: { stored: number; known: number }): void {
    this.total.stored += stored;
    this.total.known += known;
    this.#options.onProgress?.({ ...this.total });
  }
}
