/**
 * Schedules the indexing of stored texts (`backlog.ts`): many texts at once, in a pause between turns; pending texts are
 * indexed before a search.
 */
import { setImmediate } from "node:timers/promises";
import { indexSome, pendingSize } from "./backlog.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import type { StoreThread } from "../worker-thread.ts";

/** Number of pending entries from which the thread indexes in the next pause, and from which it does so at once. */
const MANY = 512;
const MOST_INDEXED = 8_192;
const INDEXING_PAUSE_MS = 250;
const INDEXING_START_MS = 1_000;
/** Limit on texts that are indexed on the main thread, in slices: starting the other thread takes longer. */
const FEW = 256;
const FEW_BYTES = 256 * 1024;
const SLICE_MS = 4;
/** Slices after which the thread merges their segments. */
const MERGE_EVERY = 16;

export class Indexing {
  readonly #db: Database;
  readonly #thread: StoreThread;
  #left = 0;
  #slices = 0;
  #pause: NodeJS.Timeout | undefined;
  #start: NodeJS.Timeout | undefined;

  constructor(db: Database, thread: StoreThread) {
    this.#db = db;
    this.#thread = thread;
  }

  /** Called after a turn of this many entries was stored. */
  left(entries: number): void {
    this.#left += entries;
    clearTimeout(this.#pause);
    if (this.#left >= MOST_INDEXED) this.#indexNow();
    else if (this.#left >= MANY) this.#pause = setTimeout(() => this.#indexNow(), INDEXING_PAUSE_MS).unref();
  }

  /** Resolves when every stored text is indexed. Throws SQLite's errors. */
  async done(): Promise<void> {
    for (;;) {
      const { texts, bytes } = pendingSize(this.#db, FEW + 1);
      if (texts === 0) return;
      if (texts > FEW || bytes > FEW_BYTES) {
        await this.#thread.ask("index", null);
        continue;
      }
      const end = performance.now() + SLICE_MS;
      indexSome(this.#db, FEW, () => performance.now() > end);
      this.#slices += 1;
      // After a failure the next call tries again.
      if (this.#slices % MERGE_EVERY === 0) this.#thread.ask("tidy", null).catch(() => undefined);
      await setImmediate();
    }
  }

  /** Schedules unfinished merging, with a delay so that a host's start is not slowed down. */
  mergeSoon(): void {
    this.#start = setTimeout(() => {
      this.#thread.ask("tidy", null).catch(() => undefined);
    }, INDEXING_START_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#pause);
    clearTimeout(this.#start);
  }

  #indexNow(): void {
    this.#left = 0;
    // After a failure the next search indexes, and reports.
    this.#thread.ask("index", null).catch(() => undefined);
  }
}
