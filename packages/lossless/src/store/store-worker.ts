/**
 * Long tasks of the store: storing and indexing a transcript, merging the index, moving the log into the file, checks,
 * scrubbing. Runs on a separate thread and connection; its transactions are short and yield to the main thread's, and
 * other processes can write between them.
 */
import { PagurusError } from "@pagurus/contract/errors";
import { takeBatch } from "./entries/adopt-batch.ts";
import {
  FEWEST_MERGED,
  indexSome,
  markMerged,
  markUnmerged,
  mergeIndex,
  pendingSize,
} from "./search/backlog.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { finishScrub, forget } from "./delete-stored.ts";
import { Gate } from "./write-gate.ts";
import { connect, WORKER_CACHE_KB } from "./open-database.ts";
import { prepareRest } from "./entries/prepare-entry.ts";
import type { Ask, Request, SentBatch, Start, Tasks } from "./tasks.ts";
import { keepVectorsOf, putVectors } from "./search/vectors.ts";
import { verifyDatabase } from "./verify.ts";

/** Texts per indexing transaction: the terms that FTS5 sorts have to fit into the processor's cache. */
const INDEX_BATCH = 300;
/**
 * Each such transaction makes a segment of the index. Segments are merged in pauses, or at once when there are so many
 * that searches would be slow: a turn's recall takes 0.5 ms at 40 of them, 15 ms at 440, and turns without a pause never
 * let them be merged. Pages per merge step: about 20 ms, most of it overhead of the step.
 */
const MOST_SEGMENTS = 32;
const MERGE_PAGES = 64;
/** Number of segments from which the next process to open the store continues merging. */
const MARKED_SEGMENTS = 16;
/** Time after which other processes get a chance to write, and the length of that pause. */
const BUSY_MS = 20;
const REST_MS = 0.5;

export class StoreWorker {
  readonly #file: string;
  readonly #gate: Gate;
  #db: Database | undefined;
  #rested = performance.now();
  /** Segments made since the last merge. */
  #segments = 0;
  /** Whether the last merge was a hurried one, which leaves more segments than one in a pause. */
  #isHurried = false;

  constructor({ file, gate }: Start) {
    this.#file = file;
    this.#gate = new Gate(gate);
  }

  close(): void {
    this.#db?.close();
  }

  /**
   * Writes batches in one transaction: the hash index is spread over pages, and one batch touches as many of them as ten.
   * Returns answers for only the first ones when the main thread waits or a later batch fails. Throws the error of the
   * first.
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

  /** Indexes the backlog; when more is to come, only full segments. */
  index(isMoreToCome: boolean): void {
    const db = this.#open();
    const isEnough = (): boolean => this.#gate.isWanted;
    const isWorth = (): boolean => !isMoreToCome || pendingSize(db, INDEX_BATCH).texts === INDEX_BATCH;
    while (isWorth() && indexSome(db, INDEX_BATCH, isEnough)) {
      this.#segments += 1;
      if (this.isUnmerged) markUnmerged(db);
      this.#pause();
      if (this.#segments >= MOST_SEGMENTS) while (this.mergeSome(FEWEST_MERGED.hurried));
    }
  }

  /** True when there may be segments to merge in the next pause. */
  get isUnmerged(): boolean {
    return this.#isHurried || this.#segments >= MARKED_SEGMENTS;
  }

  /** Counter of the main thread's writes and tasks. */
  get uses(): number {
    return this.#gate.uses;
  }

  /** Keeps the thread until there was a pause to merge in. */
  mergesSoon(): void {
    this.#gate.isMerging = true;
  }

  /** Runs one merge step, as `mergeIndex`; false when nothing is left. */
  mergeSome(fewest: number): boolean {
    this.#pause();
    const db = this.#open();
    let isMore = false;
    this.#gate.isMerging = true;
    try {
      isMore = mergeIndex(db, MERGE_PAGES, fewest);
    } finally {
      this.#gate.isMerging = isMore;
    }
    if (isMore) return true;
    this.#isHurried = fewest > FEWEST_MERGED.unhurried;
    if (!this.#isHurried) markMerged(db);
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
      case "vectors":
        keepVectorsOf(db, ask.encoder);
        putVectors(db, ask.rows);
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

  /** Pause between two transactions. Throws `turn_aborted` once the store is closed. */
  readonly #pause = (): void => {
    if (this.#gate.isStopped) throw new PagurusError("turn_aborted", "The lossless store was closed.");
    if (performance.now() - this.#rested < BUSY_MS) return;
    this.#gate.rest(REST_MS);
    this.#rested = performance.now();
  };

  #open(): Database {
    if (this.#db) return this.#db;
    const db = connect(this.#file, WORKER_CACHE_KB);
    db.inTurn = (write) => this.#gate.yielding(write);
    this.#db = db;
    return db;
  }
}
