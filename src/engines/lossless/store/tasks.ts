/** What the main thread and the thread of the store say to each other. */
import type { Batch } from "./adopt-batch.ts";
import type { Forgotten } from "./delete.ts";
import type { Prepared, Raw } from "./prepare.ts";
import type { VerifyReport } from "./types.ts";

export interface SentBatch extends Batch {
  entries: (Prepared | Raw)[];
  /** Words are indexed as soon as nothing else is to do, and by the request `index` at the latest. */
  index: "now" | "later";
}

/** What the main thread asks for, by name. */
export interface Tasks {
  batch: { ask: SentBatch; answer: { stored: number; known: number } };
  /** All words can be found then. */
  index: { ask: null; answer: null };
  /** Merges the index and moves the log into the file. */
  tidy: { ask: null; answer: null };
  verify: { ask: null; answer: VerifyReport };
  forget: { ask: readonly string[]; answer: Forgotten };
  /** Finishes what a crash left of a deletion. */
  scrub: { ask: null; answer: null };
  end: { ask: null; answer: null };
}

export interface Ask<Name extends keyof Tasks> {
  id: number;
  task: Name;
  ask: Tasks[Name]["ask"];
}

export type Request = { [Name in keyof Tasks]: Ask<Name> }[keyof Tasks];

export interface Reply {
  id: number;
  answer?: unknown;
  /** As it was thrown; an error of SQLite keeps its code. */
  error?: { code: string; message: string; errcode?: number };
}

export interface Start {
  file: string;
  /** The buffer of a `Gate`. */
  gate: SharedArrayBuffer;
}
