/**
 * The thread that does what takes long: storing and indexing a transcript, merging the index, moving the log into the
 * file, checks, scrubbing. It has a connection of its own; its transactions are short, with a pause in between, so that the main thread
 * gets its turn to write.
 */
import { parentPort, workerData } from "node:worker_threads";
import { toPagurusError } from "../../../contract/errors.ts";
import type { TranscriptEntry } from "../../../contract/transcript.ts";
import { takeBatch, type Batch } from "./adopt-batch.ts";
import { indexSome, mergeIndex } from "./backlog.ts";
import type { Db } from "./db.ts";
import { finishScrub, forget, type Forgotten } from "./delete.ts";
import { connect } from "./open.ts";
import { verifyDatabase } from "./verify.ts";

/** What the main thread asks for, by name. */
export interface Tasks {
  batch: { ask: Batch & { entries: TranscriptEntry[] }; answer: { stored: number; known: number } };
  index: { ask: null; answer: null };
  checkpoint: { ask: null; answer: null };
  verify: { ask: null; answer: ReturnType<typeof verifyDatabase> };
  forget: { ask: readonly string[]; answer: Forgotten };
  scrub: { ask: null; answer: null };
}

export interface Request {
  id: number;
  task: keyof Tasks;
  ask: unknown;
}

export interface Reply {
  id: number;
  answer?: unknown;
  /** As it was thrown; an error of SQLite keeps its code. */
  error?: { code: string; message: string; errcode?: number };
}

/** Texts of one transaction of indexing. */
const INDEX_BATCH = 600;
/** Batches after which the index's segments are merged, and pages of one step of it. */
const MERGE_EVERY = 16;
const MERGE_PAGES = 256;
const PAUSE_MS = 1;
/** Work that needs no pause behind it. */
const SHORT_MS = 8;

const clock = new Int32Array(new SharedArrayBuffer(4));
let resumed = performance.now();

/** Leaves the file to the main thread for a moment, when it was kept from it for longer than it would notice. */
function pause(): void {
  if (performance.now() - resumed < SHORT_MS) return;
  Atomics.wait(clock, 0, 0, PAUSE_MS);
  resumed = performance.now();
}

function mergeAll(db: Db): void {
  while (mergeIndex(db, MERGE_PAGES)) pause();
}

function indexAll(db: Db): void {
  for (let batch = 1; indexSome(db, INDEX_BATCH); batch++) {
    pause();
    if (batch % MERGE_EVERY === 0) mergeAll(db);
  }
  mergeAll(db);
}

function perform(db: Db, file: string, { task, ask }: Request): unknown {
  switch (task) {
    case "batch": {
      const { entries, ...batch } = ask as Tasks["batch"]["ask"];
      const answer = takeBatch(db, batch, entries, "later");
      pause();
      return answer;
    }
    case "index":
      indexAll(db);
      return null;
    case "checkpoint":
      mergeAll(db);
      db.raw.exec("PRAGMA wal_checkpoint(PASSIVE)");
      return null;
    case "verify":
      return verifyDatabase(db);
    case "forget":
      return forget(db, file, ask as Tasks["forget"]["ask"], pause);
    case "scrub":
      finishScrub(db, file, pause);
      return null;
  }
}

function failure(error: unknown): NonNullable<Reply["error"]> {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  const { code, message } = toPagurusError(error);
  return { code, message, ...(typeof errcode === "number" ? { errcode } : {}) };
}

function serve(port: NonNullable<typeof parentPort>): void {
  const { file } = workerData as { file: string };
  let db: Db | undefined;
  port.on("message", (request: Request) => {
    const { id } = request;
    let reply: Reply;
    try {
      db ??= connect(file);
      reply = { id, answer: perform(db, file, request) };
    } catch (error) {
      reply = { id, error: failure(error) };
    }
    port.postMessage(reply);
  });
  port.once("close", () => db?.close());
}

if (parentPort) serve(parentPort);
