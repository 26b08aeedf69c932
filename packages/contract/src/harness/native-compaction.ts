/** Compactions that a harness makes of its own conversation: requested by the host, or announced by the harness. */
import type { ModelInfo } from "../model.ts";

/** Request for a compaction of a bound thread, between turns. */
export interface NativeCompactionRequest {
  model: ModelInfo;
  cwd: string;
  /** As `governs` of a turn's `engine`. */
  governs: boolean;
  signal: AbortSignal;
}

/** A compaction of its own that a harness is about to make. */
export interface CompactionQuestion {
  trigger: "threshold" | "overflow" | "manual";
  /** Tokens to compact, where known. */
  tokensBefore?: number;
  customInstructions?: string;
  /** The caller's signal, besides the turn's own. */
  signal?: AbortSignal;
}

/** A compaction that a wrapped program of the user is about to make, between the turns of its session. */
export interface NativeCompactionQuestion extends CompactionQuestion {
  /** Id of the runtime. */
  runtime: string;
  sessionKey?: string;
  agentId?: string;
  /** Ref of the program's model; default: the agent's. */
  model?: string;
  cwd?: string;
}
