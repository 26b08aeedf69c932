/** Compactions that a harness makes of its own conversation: those that it is asked for, and those that it asks about. */
import type { ModelInfo } from "./model.ts";

/** A compaction of a bound thread that the host asks the runtime for, between turns. */
export interface NativeCompactionRequest {
  model: ModelInfo;
  cwd: string;
  /** As of a turn's `engine`. */
  governs: boolean;
  signal: AbortSignal;
}

/** A compaction of its own that a harness is about to make. */
export interface CompactionQuestion {
  trigger: "threshold" | "overflow" | "manual";
  /** Tokens of what it compacts, as far as they are known. */
  tokensBefore?: number;
  customInstructions?: string;
  /** The caller's, beside the turn's own. */
  signal?: AbortSignal;
}

/** A compaction that a program of the user's own is about to make, between the turns of a session that follows it. */
export interface NativeCompactionQuestion extends CompactionQuestion {
  /** Id of the runtime. */
  runtime: string;
  sessionKey?: string;
  agentId?: string;
  /** Ref of the model that the program uses; default: the agent's. */
  model?: string;
  cwd?: string;
}
