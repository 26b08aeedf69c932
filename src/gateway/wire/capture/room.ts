/** What stands between a log of captures and each of its requests. */
import type { CaptureOutcome, SentNote } from "./record.ts";
import type { Shelf } from "./shelf.ts";

/** One request on its way. Each call returns at once and never throws. */
export interface CapturedRequest {
  /** It goes on to `upstream`; again where the first was refused. */
  sent(upstream: string, body: readonly Buffer[], note: SentNote): void;
  answered(head: { status: number; rawHeaders: readonly string[] }): void;
  chunk(bytes: Buffer): void;
  end(outcome: CaptureOutcome): void;
}

/** What the records of a log share. */
export interface CaptureRoom {
  readonly home: string;
  readonly maxBytes: number;
  readonly shelf: Shelf;
  readonly isStopped: boolean;
  /** False where too much waits already; then the bytes are not taken. */
  reserve(bytes: number): boolean;
  written(bytes: number): void;
  /** A failure of the disk. */
  stop(error: unknown): void;
}
