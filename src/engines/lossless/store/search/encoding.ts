/**
 * Encodes stored messages in the background, oldest first, a few at a time, with pauses as long as the work: an import of a long history
 * leaves the machine usable. Several processes may do the same work; the rows are equal.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../../data/sqlite.ts";
import type { SentenceEncoder } from "../../encoder/encoder-thread.ts";
import { isLatin, keepVectorsOf, pendingTexts, putVectors } from "./vectors.ts";

/** Texts that are encoded at once; a query waits for them. */
const TOGETHER = 4;
/** Texts that are looked at in one step, since most of a session of work are not encoded. */
const LOOKED_AT = 32;
/** Delay after a write or the opening, so that a turn's start is not slowed down, ms. */
const START_MS = 500;
const KEEP_MS = 60_000;
/** Characters of a query that are encoded, from its end. */
const QUERY_CHARS = 500;

export class Encoding {
  readonly #db: Database;
  readonly #encoder: SentenceEncoder;
  readonly #stopping = new AbortController();
  #start: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** A caller waits: no pauses. */
  #isAwaited = false;

  constructor(db: Database, encoder: SentenceEncoder) {
    this.#db = db;
    this.#encoder = encoder;
    this.soon();
  }

  /** Called after texts were stored. */
  soon(): void {
    if (this.#stopping.signal.aborted || this.#running) return;
    clearTimeout(this.#start);
    this.#start = setTimeout(() => void this.#run().catch(() => undefined), START_MS).unref();
  }

  /** Resolves when no text is left to encode. Throws the encoder's error and SQLite's; a later call tries again. */
  async done(): Promise<void> {
    this.#isAwaited = true;
    // The work itself does not keep the process.
    const keep = setInterval(() => undefined, KEEP_MS);
    try {
      await this.#run();
    } finally {
      clearInterval(keep);
      this.#isAwaited = false;
    }
  }

  #run(): Promise<void> {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** The vector of a query; undefined where it is in another language, or the encoder fails. */
  readonly query = async (text: string): Promise<Int8Array | undefined> => {
    if (!isLatin(text)) return undefined;
    try {
      const [vector] = await this.#encoder.encode([text.slice(-QUERY_CHARS)], { isAwaited: true });
      return vector;
    } catch {
      // The engine reports it (`takeFailure`); words find passages without it.
      return undefined;
    }
  };

  /** From now on the database is not used any more. */
  stop(): void {
    clearTimeout(this.#start);
    this.#stopping.abort();
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    keepVectorsOf(this.#db, this.#encoder.id);
    while (!signal.aborted) {
      const looked = pendingTexts(this.#db, LOOKED_AT);
      if (looked.length === 0) return;
      const last = looked.filter(({ isTalk }) => isTalk)[TOGETHER - 1];
      const rows = last ? looked.slice(0, looked.indexOf(last) + 1) : looked;
      const began = performance.now();
      const talk = rows.filter(({ isTalk }) => isTalk);
      const vectors = await this.#encoder.encode(
        talk.map(({ body }) => body),
        { isAwaited: false },
      );
      if (signal.aborted) return;
      const vectorOf = new Map(talk.map(({ num }, index) => [num, vectors[index]]));
      putVectors(
        this.#db,
        rows.map(({ num, hash }) => ({ num, hash, vector: vectorOf.get(num) })),
      );
      if (this.#isAwaited) continue;
      await sleep(performance.now() - began, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
