/**
 * What takes long: storing and indexing a transcript, merging the index, moving the log into the file, checks, scrubbing.
 * On a connection and a thread of its own; its transactions are short and give way to the main thread's, and between
 * them other processes get a moment to write.
 */
import { PagurusError } from "../../../contract/errors.ts";
import { takeBatch } from "./adopt-batch.ts";
import { indexSome, markMerged, markUnmerged, mergeIndex, pendingSize } from "./backlog.ts";
import type { Db } from "./db.ts";
import { finishScrub, forget } from "./delete.ts";
import { Gate } from "./gate.ts";
import { connect, WORKER_CACHE_KB } from "./open.ts";
import { prepareRest } from "./prepare.ts";
import type { Ask, Request, SentBatch, Start, Tasks } from "./tasks.ts";
import { verifyDatabase } from "./verify.ts";

/** Texts of one transaction of indexing: what FTS5 sorts at once has to fit into the processor's cache. */
const INDEX_BATCH = 300;
/**
 * Each such transaction makes a segment of the index. They are merged in pauses, and at once when there are so many that
 * every search would feel it. Pages of one step of merging: some 20 ms, most of them for its beginning and end.
 */
const MOST_SEGMENTS = 512;
const MERGE_PAGES = 64;
/** From so many on, whoever opens the store next goes on with merging. */
const MARKED_SEGMENTS = 16;
/** How long other processes are kept from writing, but for one transaction, and the moment that they get then. */
const BUSY_MS = 20;
const REST_MS = 0.5;

export class StoreWorker {
  readonly #file: string;
  readonly #gate: Gate;
  #db: Db | undefined;
  #rested = performance.now();
  /** Made since the index was merged. */
  #segments = 0;

  constructor({ file, gate }: Start) {
    this.#file = file;
    this.#gate = new Gate(gate);
  }

  close(): void {
    this.#db?.close();
  }

  /**
   * Writes batches in one transaction: the index of hashes is spread over pages, of which one batch touches as many as
   * ten do. Answers for the first ones only where the main thread waits, or where a later one cannot be written. Throws
   * what stops the first.
   */
  write(batches: readonly SentBatch[]): Tasks["batch"]["answer"][] {
    this.#pause();
    try {
      return this.#writeSome(batches);
    } catch (error) {
      if (batches.length === 1) throw error;
      return this.#writeSome(batches.slice(0, 1));
    }
  }

  #writeSome(batches: readonly SentBatch[]): Tasks["batch"]["answer"][] {
    const db = this.#open();
    const ready = batches.map((batch) => ({ batch, entries: batch.entries.map(prepareRest) }));
    return db.transaction(() => {
      const answers: Tasks["batch"]["answer"][] = [];
      for (const { batch, entries } of ready) {
        if (answers.length > 0 && this.#gate.isWanted) break;
        answers.push(takeBatch(db, batch, entries));
      }
      return answers;
    });
  }

  /** Indexes what waits; only what is worth a segment where more is to come. */
  index(isMoreToCome: boolean): void {
    const db = this.#open();
    const isEnough = (): boolean => this.#gate.isWanted;
    const isWorth = (): boolean => !isMoreToCome || pendingSize(db, INDEX_BATCH).texts === INDEX_BATCH;
    while (isWorth() && indexSome(db, INDEX_BATCH, isEnough)) {
      this.#segments += 1;
      if (this.isUnmerged) markUnmerged(db);
      this.#pause();
      if (this.#segments >= MOST_SEGMENTS) while (this.mergeSome());
    }
  }

  /** There may be something to merge in the next pause. */
  get isUnmerged(): boolean {
    return this.#segments >= MARKED_SEGMENTS;
  }

  /** Changes whenever somebody writes on the main thread. */
  get writes(): number {
    return this.#gate.writes;
  }

  /** One step of merging; false when nothing is left. */
  mergeSome(): boolean {
    this.#pause();
    const db = this.#open();
    if (mergeIndex(db, MERGE_PAGES)) return true;
    markMerged(db);
    this.#segments = 0;
    return false;
  }

  perform({ task, ask }: Exclude<Request, Ask<"batch"> | Ask<"end">>): unknown {
    this.#pause();
    const db = this.#open();
    switch (task) {
      case "index":
        this.index(false);
        return null;
      case "tidy":
        this.#segments = Math.max(this.#segments, MARKED_SEGMENTS);
        db.raw.exec("PRAGMA wal_checkpoint(PASSIVE)");
        return null;
      case "verify":
        return verifyDatabase(db);
      case "forget":
        return forget(db, this.#file, ask, this.#pause);
      case "scrub":
        finishScrub(db, this.#file, this.#pause);
        return null;
    }
  }

  /** Between two transactions. Throws `turn_aborted` once the store is closed. */
  readonly #pause = (): void => {
    if (this.#gate.isStopped) throw new PagurusError("turn_aborted", "The lossless store was closed.");
    if (performance.now() - this.#rested < BUSY_MS) return;
    this.#gate.rest(REST_MS);
    this.#rested = performance.now();
  };

  #open(): Db {
    if (this.#db) return this.#db;
    const db = connect(this.#file, WORKER_CACHE_KB);
    db.inTurn = (write) => this.#gate.yielding(write);
    this.#db = db;
    return db;
  }
}
