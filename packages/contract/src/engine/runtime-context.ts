/** The runtime context that every engine call receives. Token counts are estimates unless noted. */
import type { AgentMessage, Usage } from "../message.ts";
import type { LlmComplete } from "../model.ts";
import type { TranscriptCursor } from "../session/transcript.ts";

/** A session named without a file path (the durable generation of the contract). */
export interface SessionTarget {
  agentId: string;
  sessionId: string;
  sessionKey: string;
  storePath: string;
}

export interface PromptCacheObservation {
  /** The provider's cache cannot have served all of the request before. */
  broke: boolean;
  previousCacheRead?: number;
  cacheRead?: number;
  /** The first part that changed; absent where nothing did, or where messages did. */
  changes?: { code: PromptCacheChangeCode; detail: string }[];
}

/** This host reports `model`, `systemPrompt` and `tools`. */
export type PromptCacheChangeCode =
  | "aggregateToolResultTruncation"
  | "cacheRetention"
  | "model"
  | "streamStrategy"
  | "systemPrompt"
  | "systemPromptSuffix"
  | "tools"
  | "transport";

/** Figures that the runtime reported; a runtime that reports none leaves the whole object out. */
export interface PromptCacheInfo {
  /** `short`: five minutes from the last use, where the host sets the marks itself. */
  retention?: "none" | "short" | "long" | "in_memory" | "24h";
  lastCallUsage?: {
    input: number;
    output: number;
    cacheRead?: number;
    cacheWrite?: number;
    contextUsage:
      | { state: "available"; promptTokens: number; totalTokens: number }
      | { state: "unavailable" };
    total: number;
  };
  /** The host's own verdict on the last call, also in `pagurus context show`. */
  observation?: PromptCacheObservation;
  lastCacheTouchAt?: number;
  expiresAt?: number;
}

export interface RewriteRequest {
  entryId: string;
  message: AgentMessage;
}
/** All replacements of one rewrite. OpenClaw's form; a list of them alone is accepted too. */
export interface TranscriptRewriteRequest {
  replacements: RewriteRequest[];
  /** Must name every message of the active path from the first replaced one on, or nothing is rewritten. */
  allowedRewriteSuffixEntryIds?: string[];
}
export interface TranscriptRewriteResult {
  changed: boolean;
  bytesFreed: number;
  rewrittenEntries: number;
  reason?: string;
}

/** What every member gets from the running host. Source: the design's "The contract", `runtimeContext`. */
export interface RuntimeContext {
  config: unknown;
  provider: string;
  model: string;
  modelId: string;
  agentId: string;
  agentHarnessId: string;
  cwd: string;
  turnId?: string;
  /** Window of the model, tokens. */
  contextWindow: number;
  tokenBudget: number;
  /** Provider-reported or calibrated; absent when the runtime does not know it. */
  currentTokenCount?: number;
  /** Usage of the last model call, when it is known. */
  usage?: Usage;
  promptCache?: PromptCacheInfo;
  /** Estimate, in tokens, of a text or of messages; corrected by the provider's reports, uncorrected while they are absent. */
  tokens(value: string | AgentMessage | readonly AgentMessage[]): number;
  llm: { complete: LlmComplete };
  /**
   * Appends a branch of superseding entries, all or none; never edits in place, and never the live turn. Absent outside
   * `maintain`. Throws `store_write_failed`, `lock_lost`; a refusal is a result with a reason.
   */
  rewriteTranscriptEntries?(
    request: TranscriptRewriteRequest | RewriteRequest[],
  ): Promise<TranscriptRewriteResult>;
  allowDeferredCompactionExecution: boolean;
  /** (+) The active path of the session. */
  transcript: TranscriptCursor;
  /** The session without a path; also where `acceptedHostParams` omits the parameter of that name. */
  sessionTarget?: SessionTarget;
  /**
   * (+) Reports a finding of the engine, repaired or skipped, in one sentence without contents: a degradation of the stage
   * `transcript`. Absent where no turn can carry it.
   */
  degraded?(reason: string): void;
  /**
   * (+) Appends an entry of the engine to the session's log: `custom`, with the type of `engineEntryType`. No model sees it, and it is not
   * part of the conversation. Returns its id. Absent for a view. Throws `session_locked` outside of a turn while one runs,
   * `store_write_failed`, `lock_lost`.
   */
  remember?(data: unknown): string;
  /** True in `compact` for `/compact`. */
  manualCompaction?: boolean;
}
