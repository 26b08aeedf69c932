/** Following a transcript: what is new on its active path, and where the leaf is. */
import { setImmediate } from "node:timers/promises";
import { PagurusError } from "../../../contract/errors.ts";
import type { TranscriptCursor, TranscriptEntry } from "../../../contract/transcript.ts";
import { takeBatch } from "./adopt-batch.ts";
import type { Db } from "./db.ts";
import { moveLeaf } from "./ingest.ts";
import { asStoreFailure, ensureSession, setAdopted, guarded } from "./sessions.ts";
import { prepareRest, prepareSmall, sizeOf, type Prepared, type Raw } from "./prepare.ts";
import { entryAt, resolve, sessionRow } from "./tree.ts";
import type { StoreThread } from "./thread.ts";
import type { AdoptOptions, IngestResult } from "./types.ts";

/** So many entries are written at once on the main thread; more go to the worker. */
const SMALL = 20;
/** Entries that go to the worker at once, and characters of them. */
const BATCH = 100;
const BATCH_CHARACTERS = 500_000;
/** Entries are made ready on this thread: then other work gets its turn. Milliseconds. */
const SLICE_MS = 3;
/** Batches that are on their way while the transcript is read on; the worker writes what waits in one transaction. */
const AHEAD = 16;

export interface Home {
  db: Db;
  file: string;
  thread: StoreThread;
}

interface Rest {
  /** Where the session's entries and the transcript's path part; null for the path's beginning. */
  known: string | null;
  /** The path behind it. */
  entries: AsyncIterable<TranscriptEntry>;
}

/** What the transcript's path has that the session has not. */
async function restOf(db: Db, sessionId: string, cursor: TranscriptCursor): Promise<Rest> {
  const session = sessionRow(db, sessionId);
  const leaf = session?.leaf == null ? undefined : entryAt(db, session.leaf)?.id;
  if (!session || leaf === undefined) return { known: null, entries: cursor.forward() };
  const behind = await started(cursor.forward(leaf));
  if (behind) return { known: leaf, entries: behind };
  // The leaf is off the path by now: back to the entry at which the branches part.
  for await (const entry of cursor.backward())
    if (resolve(db, session.num, entry.id) !== undefined)
      return { known: entry.id, entries: cursor.forward(entry.id) };
  return { known: null, entries: cursor.forward() };
}

/** The walk, or undefined when it cannot start since its entry is not on the path. */
async function started(
  walk: AsyncIterable<TranscriptEntry>,
): Promise<AsyncIterable<TranscriptEntry> | undefined> {
  const iterator = walk[Symbol.asyncIterator]();
  let first: IteratorResult<TranscriptEntry>;
  try {
    first = await iterator.next();
  } catch (error) {
    if (error instanceof PagurusError && error.code === "entry_not_found") return undefined;
    throw error;
  }
  return (async function* () {
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
  })();
}

/** The adoptions that are under way, by session. */
export class Adoptions {
  readonly #home: Home;
  readonly #running = new Map<Promise<unknown>, { sessionId: string; controller: AbortController }>();

  constructor(home: Home) {
    this.#home = home;
  }

  /** Throws `turn_aborted`, `store_write_failed`, what the cursor throws. */
  async run(sessionId: string, cursor: TranscriptCursor, options: AdoptOptions): Promise<IngestResult> {
    const controller = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, controller.signal]) : controller.signal;
    const running = adopt(this.#home, sessionId, cursor, { ...options, signal });
    this.#running.set(running, { sessionId, controller });
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Aborts the adoptions of some sessions, of all where none are named; resolves when nothing of them is under way. */
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
  guarded(file, () =>
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

/** Collects entries into batches; the first few, if there are no more, are written at once. */
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

  /** A promise where something has to be waited for. */
  add(entry: TranscriptEntry): Promise<void> | undefined {
    if (this.#options.signal?.aborted)
      throw new PagurusError(
        "turn_aborted",
        "The adoption of the transcript was aborted; the next one goes on.",
        { cause: this.#options.signal.reason },
      );
    this.#batch.push(prepareSmall(entry));
    this.#characters += sizeOf(entry);
    this.leafId = entry.id;
    if (this.#batch.length >= BATCH || this.#characters >= BATCH_CHARACTERS) {
      this.#send(false);
      if (this.#underway.length >= AHEAD) return this.#written();
    }
    return performance.now() < this.#sliceEnd ? undefined : this.#slice();
  }

  async finish(): Promise<void> {
    const { db, file, thread } = this.#home;
    if (!this.#usesThread && this.#batch.length <= SMALL && this.#characters < BATCH_CHARACTERS / 4) {
      const batch = { sessionId: this.#sessionId, isLast: true };
      const entries = this.#batch.map(prepareRest);
      this.#count(guarded(file, () => takeBatch(db, batch, entries)));
      return;
    }
    this.#send(true);
    while (this.#underway.length > 0) await this.#written();
    if (this.#options.index === "later") return;
    await thread.ask("index", null).catch((error: unknown) => {
      throw asStoreFailure(file, error);
    });
  }

  /** Nothing is written any more: what follows finds what was. */
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
    // It is awaited when its turn comes; until then a failure is nobody's fault.
    sent.catch(() => undefined);
    this.#underway.push(sent);
  }

  #count({ stored, known }: { stored: number; known: number }): void {
    this.total.stored += stored;
    this.total.known += known;
    this.#options.onProgress?.({ ...this.total });
  }
}
