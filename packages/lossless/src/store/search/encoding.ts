/**
 * Encodes stored messages in the background, oldest first, a few at a time, with pauses as long as the work: an import of a long history
 * leaves the machine usable. The store's thread writes the vectors. Several processes may do the same work.
 */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Database } from "@pagurus/core/data/sqlite";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { SentenceEncoder } from "../../encoder/encoder-thread.ts";
import type { StoreThread } from "../worker-thread.ts";
import { hasVectorsOf, isLatin, pendingTexts, type NewVector, type PendingText } from "./vectors.ts";

/** Characters that are encoded at once, at least one text; a query waits for them. */
const TOGETHER_CHARS = 600;
/** Texts that are looked at in one step, since most of a session of work are not encoded. */
const LOOKED_AT = 32;
/** Delay after a write or the opening, so that a turn's start is not slowed down, ms. */
const START_MS = 500;
const KEEP_MS = 60_000;
/** Characters of a query that are encoded, from its end, and the deadline after which words alone are used, ms. */
const QUERY_CHARS = 500;
const QUERY_MS = 5_000;

export interface EncodingPlace {
  db: Database;
  thread: StoreThread;
  encoder: SentenceEncoder;
  /** Called after each write. */
  onWrite(): void;
}

export class Encoding {
  readonly #place: EncodingPlace;
  readonly #stopping = new AbortController();
  #start: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** A caller waits: no pauses. */
  #isAwaited = false;

  constructor(place: EncodingPlace) {
    this.#place = place;
    this.soon();
  }

  /** Called after texts were stored. */
  soon(): void {
    if (this.#stopping.signal.aborted || this.#running) return;
    clearTimeout(this.#start);
    // After a failure a later call tries again.
    this.#start = setTimeout(() => void this.#run().catch(() => undefined), START_MS).unref();
  }

  /** Resolves when no text is left to encode, or it was stopped. Throws the encoder's error and SQLite's; a later call tries again. */
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

  /** The vector of a query; undefined where it is in another script, or the encoder fails or is too slow. */
  readonly query = async (text: string, deadlineMs = QUERY_MS): Promise<Int8Array | undefined> => {
    if (!isLatin(text)) return undefined;
    try {
      const [vector] = await withDeadline(
        () => this.#place.encoder.encode([text.slice(-QUERY_CHARS)], { isAwaited: true }),
        { ms: deadlineMs, label: "Encoding a query" },
      );
      return vector;
    } catch {
      // The engine reports a lasting failure.
      return undefined;
    }
  };

  /** From now on the database is not used any more. */
  stop(): void {
    clearTimeout(this.#start);
    this.#stopping.abort();
  }

  async #work(): Promise<void> {
    const { db, thread, encoder, onWrite } = this.#place;
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    if (!hasVectorsOf(db, encoder.id)) await thread.ask("vectors", { encoder: encoder.id, rows: [] });
    while (!signal.aborted) {
      const began = performance.now();
      const looked = pendingTexts(db, LOOKED_AT);
      if (looked.length === 0) return;
      const rows = await this.#encoded(firstOf(looked));
      if (signal.aborted) return;
      await thread.ask("vectors", { encoder: encoder.id, rows });
      onWrite();
      // Also without a pause other work of the process gets its turn.
      if (this.#isAwaited) await setImmediate();
      else await sleep(performance.now() - began, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #encoded(texts: readonly PendingText[]): Promise<NewVector[]> {
    const talk = texts.filter(({ isTalk }) => isTalk);
    const vectors = new Map<number, Int8Array | undefined>();
    try {
      const made = await this.#encode(talk);
      for (const [index, { num }] of talk.entries()) vectors.set(num, made[index]);
    } catch (error) {
      if (this.#place.encoder.failure || this.#stopping.signal.aborted) throw error;
      // One of them cannot be encoded; it is left out.
      for (const text of talk) {
        const one = await this.#encode([text]).catch(() => undefined);
        vectors.set(text.num, one?.[0]);
      }
    }
    return texts.map(({ num, hash }) => ({ num, hash, vector: vectors.get(num) }));
  }

  #encode(texts: readonly PendingText[]): Promise<Int8Array[]> {
    return this.#place.encoder.encode(
      texts.map(({ body }) => body),
      { isAwaited: false },
    );
  }
}

/** The first texts, up to the characters that are encoded together. */
function firstOf(texts: readonly PendingText[]): PendingText[] {
  const first: PendingText[] = [];
  let chars = 0;
  for (const text of texts) {
    if (text.isTalk) chars += text.body.length;
    if (chars > TOGETHER_CHARS && first.some(({ isTalk }) => isTalk)) break;
    first.push(text);
  }
  return first;
}
