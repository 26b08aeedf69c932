/** A program's own compaction of a bound thread between turns: when there is none, and its result. */
import type {
  HarnessBinding,
  NativeCompaction,
  NativeCompactionRequest,
} from "@pagurus/contract/harness/harness";
import type { ThreadState } from "./thread-state.ts";
import { defined } from "@pagurus/core/data/defined";

/** The state of the thread, or why it is not compacted. `noun`: what the program calls a thread. */
export function compactable<S extends ThreadState>(
  { governs }: NativeCompactionRequest,
  state: S | undefined,
  noun: "thread" | "session",
): { state: S } | { reason: string } {
  if (governs) return { reason: `the next turn begins a new ${noun} from the engine's context` };
  if (!state || state.openTurn !== undefined)
    return { reason: `the content of the ${noun} is not known; the next turn begins a new one` };
  return { state };
}

export function compacted(
  binding: HarnessBinding,
  { before, after }: { before: number | undefined; after: number | undefined },
): NativeCompaction {
  return { compacted: true, ...defined({ tokensBefore: before, tokensAfter: after }), binding };
}
