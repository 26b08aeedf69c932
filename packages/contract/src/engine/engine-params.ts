/** Parameters and results of the context engine's members (`engine.ts`). Token counts are estimates unless noted. */
import type { CitationsMode } from "./memory.ts";
import type { AgentMessage } from "../message.ts";
import type { RuntimeContext, SessionTarget } from "./runtime-context.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";

export interface SessionParams {
  sessionId: string;
  sessionKey?: string;
  runtimeContext?: RuntimeContext;
  runtimeSettings?: RuntimeSettings;
}
export interface FileParams extends SessionParams {
  /** A transcript file. Engines that are not ours get a mirror made for them, never our file. */
  sessionFile: string;
  sessionTarget?: SessionTarget;
}

export type BootstrapParams = FileParams;
export interface BootstrapResult {
  bootstrapped: boolean;
  importedMessages?: number;
  reason?: string;
}

export interface IngestParams extends SessionParams {
  message: AgentMessage;
  isHeartbeat?: boolean;
}
export interface IngestBatchParams extends SessionParams {
  messages: AgentMessage[];
  isHeartbeat?: boolean;
}

export interface AssembleParams extends SessionParams {
  /** First call of a turn: the history before it. Later calls: with the live turn. */
  messages: AgentMessage[];
  tokenBudget?: number;
  availableTools?: Set<string>;
  citationsMode?: CitationsMode;
  /** Model id without its provider. */
  model?: string;
  /** The user's input; set at the first call of a turn only. */
  prompt?: string;
}
export interface AssembleResult {
  messages: AgentMessage[];
  /**
   * The engine's own count of `messages`. Thresholds and the gauge use the larger of it and the host's count; absent: the
   * host's count alone.
   */
  estimatedTokens?: number;
  /** Prepended to the system prompt, or joined to a harness's developer instructions. */
  systemPromptAddition?: string;
  /** Which estimate the overflow check uses; default `assembled`. */
  promptAuthority?: "assembled" | "preassembly_may_overflow";
  contextProjection?: { mode: "thread_bootstrap" | "per_turn"; epoch?: string; fingerprint?: string };
  /**
   * (+) The engine's own trigger is reached. The host compacts in the queued lane before it sends, and assembles again; where
   * it cannot, it sends this context.
   */
  wantsCompaction?: boolean;
}

export interface AfterTurnParams extends FileParams {
  /** The session snapshot, including the turn. */
  messages: AgentMessage[];
  /** Number of `messages` before the turn's prompt. */
  prePromptMessageCount: number;
  autoCompactionSummary?: string;
  isHeartbeat?: boolean;
  tokenBudget?: number;
}

export interface MaintainParams extends FileParams {
  abortSignal?: AbortSignal;
}

export interface EngineStatusParams {
  sessionId: string;
  sessionKey?: string;
  /** Budget of history and live turn; absent where no model can be chosen. */
  tokenBudget?: number;
}
export interface EngineStatus {
  /** The head of the session's contexts, before the messages they keep; absent while nothing is compacted. */
  epoch?: { id: string; tokens: number; firstKeptEntryId: string };
  /** Tokens of history and live turn at which the engine compacts on its own. */
  trigger?: number;
  /** Pending work over all sessions of the agent, such as summaries that a model has not written yet. */
  debts?: {
    count: number;
    /** Highest attempt count among them. */
    attempts: number;
    /** Earliest time of the next retry (ISO 8601). */
    nextAt?: string;
    /** Error code of the newest failure. */
    errorCode?: string;
  };
  /** Notices for the user, a sentence each; no contents. */
  notes?: readonly string[];
}

export interface SubagentSpawnParams {
  parentSessionKey: string;
  childSessionKey: string;
  contextMode?: "isolated" | "fork";
  parentSessionId?: string;
  childSessionId?: string;
  parentSessionFile?: string;
  childSessionFile?: string;
  ttlMs?: number;
}
export interface SubagentEndedParams {
  childSessionKey: string;
  reason: "completed" | "deleted" | "released" | "swept";
}

/** Position in the transcript that a durable engine can check its own records against. */
export interface TranscriptEntryAnchor extends SessionTarget {
  /** Number of the generation under the key, as text: "1" for the first. */
  generation: string;
  entryId: string;
  /** Line number of the entry in the transcript; 1 for the first after the header. */
  rawSeq: number;
  /** The previous message on the active path. */
  effectiveParentId: string | null;
  /** 0-based position among the messages of the active path. */
  activeMessagePosition: number;
  idempotencyKey?: string;
}
export interface CommitTurnParams extends SessionParams {
  /** The turn's id: the same for each offer of one turn. */
  advancementKey: string;
  admission: TranscriptEntryAnchor & { logicalTurnId: string; role: "user" };
  terminal: TranscriptEntryAnchor;
  /** From the admitted user message to the final one, inclusive. */
  messages: AgentMessage[];
  sessionTarget?: SessionTarget;
  isHeartbeat?: boolean;
}
