/** Interfaces between the capture log and the records of its requests. */
import type { CaptureOutcome, SentNote } from "./capture-record.ts";
import type { Shelf } from "./capture-shelf.ts";

/** A request in progress. Each call returns at once and never throws. */
export interface CapturedRequest {
  /** The request is sent to `upstream`; again if the first answer was a refusal. */
  sent(upstream: string, body: readonly Buffer[], note: SentNote): void;
  answered(head: { status: number; rawHeaders: readonly string[] }): void;
  chunk(bytes: Buffer): void;
  end(outcome: CaptureOutcome): void;
}

/** State that all records of a log share. */
export interface CaptureState {
  readonly home: string;
  readonly maxBytes: number;
  readonly shelf: Shelf;
  readonly isStopped: boolean;
  /** False if too many bytes wait already; the caller then drops these. */
  reserve(bytes: number): boolean;
  written(bytes: number): void;
  /** Ends the capturing after a disk failure. */
  stop(error: unknown): void;
}
