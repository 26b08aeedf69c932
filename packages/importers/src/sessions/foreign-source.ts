/** Interface of the readers of foreign formats. */
import { nextSlice } from "@pagurus/core/platform/pace";
import type { Draft } from "./draft.ts";
import type { Tally } from "./tally.ts";

export const FOREIGN_FORMATS = ["claude-code", "codex", "pi", "lcm"] as const;
export type ForeignFormat = (typeof FOREIGN_FORMATS)[number];

/** One conversation of a foreign file. */
export interface ForeignSession {
  /** Unique among the sessions of its format, the same for the same conversation. */
  sourceId: string;
  /** Default session key. */
  key: string;
  cwd: string;
  /** Milliseconds since the epoch. */
  startedAt: number | undefined;
  awaits?: (callId: string) => boolean;
  /** Fills the draft and finishes it. Throws the file system's errors. */
  fill(draft: Draft, tally: Tally): Paced<void>;
}

/** A reader's work that yields regularly, so that other work of the process can run; run by `paced`. */
export type Paced<T> = Generator<void, T>;

/** Lines between two yields. */
export const SLICE = 500;

export async function paced<T>(work: Paced<T>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await nextSlice();
  }
}
