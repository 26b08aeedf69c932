/** Messages between the main thread and the store's thread. */
import type { Batch } from "./entries/adopt-batch.ts";
import type { DamagedPart } from "./damage.ts";
import type { Forgotten } from "./delete-stored.ts";
import type { Prepared, Raw } from "./entries/prepare-entry.ts";
import type { NewVector } from "./search/vectors.ts";
import type { VerifyReport } from "./store-types.ts";

export interface SentBatch extends Batch {
  entries: (Prepared | Raw)[];
  /** Texts are indexed when the thread is idle, and by the request `index` at the latest. */
  index: "now" | "later";
}

/** Requests of the main thread, by name. */
export interface Tasks {
  batch: { ask: SentBatch; answer: { stored: number; known: number } };
  /** Indexes all texts. */
  index: { ask: null; answer: null };
  /** Merges the index and moves the log into the file. */
  tidy: { ask: null; answer: null };
  /** Writes vectors of this encoder, and drops those of another one. */
  vectors: { ask: { encoder: string; rows: readonly NewVector[] }; answer: null };
  verify: { ask: null; answer: VerifyReport };
  forget: { ask: readonly string[]; answer: Forgotten };
  /** Finishes a deletion that a crash interrupted. */
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
  /** The thrown error; an SQLite error keeps its code, damage its part. */
  error?: { code: string; message: string; errcode?: number; damage?: { part: DamagedPart | undefined } };
}

export interface Start {
  file: string;
  /** Buffer of a `Gate`. */
  gate: SharedArrayBuffer;
}
