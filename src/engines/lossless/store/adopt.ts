/** Following a transcript: what is new on its active path, and where the leaf is. */
import { PagurusError } from "../../../contract/errors.ts";
import type { TranscriptCursor, TranscriptEntry } from "../../../contract/transcript.ts";
import { takeBatch } from "./adopt-batch.ts";
import type { Db } from "./db.ts";
import { moveLeaf } from "./ingest.ts";
import { asStoreFailure, ensureSession, setAdopted, guarded } from "./sessions.ts";
import { entryAt, resolve, sessionRow } from "./tree.ts";
import type { StoreThread } from "./thread.ts";
import type { AdoptOptions, IngestResult } from "./types.ts";

/** So many entries are written at once on the main thread; more go to the worker. */
const SMALL = 20;
/** Entries and characters of a transaction of the worker. */
const BATCH = 50;
const BATCH_CHARACTERS = 200_000;
/** Batches that are on their way while the transcript is read on. */
const AHEAD = 2;

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

/** Throws `turn_aborted`, `store_write_failed`, what the cursor throws. */
export async function adopt(
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
  for await (const entry of entries) await adoption.add(entry);
  await adoption.finish();
  return { ...adoption.total, leafId: adoption.leafId ?? known };
}

/** Collects entries into batches; the first few, if there are no more, are written at once. */
class Adoption {
  readonly total = { stored: 0, known: 0 };
  leafId: string | null = null;
  readonly #home: Home;
  readonly #sessionId: string;
  readonly #options: AdoptOptions;
  #batch: TranscriptEntry[] = [];
  #characters = 0;
  #usesThread = false;
  readonly #underway: Promise<void>[] = [];

  constructor(home: Home, sessionId: string, options: AdoptOptions) {
    this.#home = home;
    this.#sessionId = sessionId;
    this.#options = options;
  }

  async add(entry: TranscriptEntry): Promise<void> {
    if (this.#options.signal?.aborted)
      throw new PagurusError(
        "turn_aborted",
        "The adoption of the transcript was aborted; the next one goes on.",
        { cause: this.#options.signal.reason },
      );
    this.#batch.push(entry);
    this.#characters += sizeOf(entry);
    this.leafId = entry.id;
    if (this.#batch.length < BATCH && this.#characters < BATCH_CHARACTERS) return;
    this.#send(false);
    if (this.#underway.length >= AHEAD) await this.#underway.shift();
  }

  async finish(): Promise<void> {
    const { db, file, thread } = this.#home;
    if (!this.#usesThread && this.#batch.length <= SMALL && this.#characters < BATCH_CHARACTERS / 4) {
      const batch = { sessionId: this.#sessionId, isLast: true };
      this.#count(guarded(file, () => takeBatch(db, batch, this.#batch, "now")));
      return;
    }
    this.#send(true);
    while (this.#underway.length > 0) await this.#underway.shift();
    if (this.#options.index === "later") return;
    await thread.ask("index", null).catch((error: unknown) => {
      throw asStoreFailure(file, error);
    });
  }

  #send(isLast: boolean): void {
    const { thread, file } = this.#home;
    this.#usesThread = true;
    const ask = { sessionId: this.#sessionId, isLast, entries: this.#batch };
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

/** Rough number of characters, without making the JSON. */
function sizeOf(entry: TranscriptEntry): number {
  if (entry.type === "compaction") return entry.summary.length;
  if (entry.type !== "message") return 200;
  const { content } = entry.message;
  if (typeof content === "string") return content.length;
  let size = 200;
  for (const part of content) {
    if (part.type === "text") size += part.text.length;
    else if (part.type === "thinking") size += part.thinking.length;
    else size += part.type === "image" ? part.data.length : 500;
  }
  return size;
}
