/**
 * When the words of stored texts are indexed (`backlog.ts`): behind the turns, in a pause between them, many texts at
 * once; what still waits when somebody searches, before the search.
 */
import { setImmediate } from "node:timers/promises";
import { indexSome, pendingSize } from "./backlog.ts";
import type { Db } from "./db.ts";
import type { StoreThread } from "./thread.ts";

/** Entries behind which the thread indexes in the next pause between turns, and behind which it does so at once. */
const MANY = 512;
const MOST = 8_192;
const PAUSE_MS = 250;
const START_MS = 1_000;
/** So much is indexed on the main thread, in slices: starting the other thread takes longer. */
const FEW = 256;
const FEW_BYTES = 256 * 1024;
const SLICE_MS = 4;
/** Slices after which the thread merges what they made. */
const MERGE_EVERY = 16;

export class Indexing {
  readonly #db: Db;
  readonly #thread: StoreThread;
  #left = 0;
  #slices = 0;
  #pause: NodeJS.Timeout | undefined;
  #start: NodeJS.Timeout | undefined;

  constructor(db: Db, thread: StoreThread) {
    this.#db = db;
    this.#thread = thread;
  }

  /** A turn of so many entries was stored. */
  left(entries: number): void {
    this.#left += entries;
    clearTimeout(this.#pause);
    if (this.#left >= MOST) this.#behind();
    else if (this.#left >= MANY) this.#pause = setTimeout(() => this.#behind(), PAUSE_MS).unref();
  }

  /** Resolves when every stored text can be found. Throws what SQLite throws. */
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
      // A failure leaves it to the next occasion.
      if (this.#slices % MERGE_EVERY === 0) this.#thread.ask("tidy", null).catch(() => undefined);
      await setImmediate();
    }
  }

  /** Goes on with merging that was not finished; not while a host starts. */
  mergeSoon(): void {
    this.#start = setTimeout(() => {
      this.#thread.ask("tidy", null).catch(() => undefined);
    }, START_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#pause);
    clearTimeout(this.#start);
  }

  #behind(): void {
    this.#left = 0;
    // What fails here is done, and told, by the next search.
    this.#thread.ask("index", null).catch(() => undefined);
  }
}
