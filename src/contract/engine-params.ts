/** Parameters and results of the context engine's members (`engine.ts`). Tokens are estimates unless said. */
import type { CitationsMode } from "./memory.ts";
import type { AgentMessage } from "./message.ts";
import type { RuntimeContext, RuntimeSettings, SessionTarget } from "./runtime-context.ts";

export interface SessionParams {
  sessionId: string;
  sessionKey?: string;
  runtimeContext?: RuntimeContext;
  runtimeSettings?: RuntimeSettings;
}
export interface FileParams extends SessionParams {
  /** A transcript file. For engines that are not ours it is a mirror made for them, never our file. */
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
  /** The user's input, at the first call of a turn only. */
  prompt?: string;
}
export interface AssembleResult {
  messages: AgentMessage[];
  estimatedTokens: number;
  /** Prepended to the system prompt, or joined to a harness's developer instructions. */
  systemPromptAddition?: string;
  /** Which estimate the overflow check uses; `assembled` where absent. */
  promptAuthority?: "assembled" | "preassembly_may_overflow";
  contextProjection?: { mode: "thread_bootstrap" | "per_turn"; epoch?: string; fingerprint?: string };
  /**
   * (+) The engine's own trigger is reached. The host compacts in the queued lane before it sends, and assembles anew;
   * where it cannot, what was assembled is sent.
   */
  wantsCompaction?: boolean;
}

export interface AfterTurnParams extends FileParams {
  /** The session snapshot, the turn included. */
  messages: AgentMessage[];
  /** How many of `messages` stood before the turn's prompt. */
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
  /** Of history and live turn; absent where no model can be chosen. */
  tokenBudget?: number;
}
export interface EngineStatus {
  /** What stands before the messages that the session's contexts keep; absent while nothing is compacted. */
  epoch?: { id: string; tokens: number; firstKeptEntryId: string };
  /** Tokens of history and live turn at which the engine compacts by itself. */
  trigger?: number;
  /** Work that is owed over all sessions of the agent, such as summaries that a model has not written. */
  debts?: {
    count: number;
    /** Most tries of one of them. */
    attempts: number;
    /** Before this time (ISO 8601) none of them is tried. */
    nextAt?: string;
    /** Code of the newest failure. */
    errorCode?: string;
  };
  /** What somebody should know or do, a sentence each; no contents. */
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

/** A place in the transcript that a durable engine can check its own records against. */
export interface TranscriptEntryAnchor extends SessionTarget {
  /** 1 for the first generation under the key. */
  generation: number;
  entryId: string;
  /** Number of the entry's line in the transcript; 1 for the first after the header. */
  rawSeq: number;
  /** The message before it on the active path. */
  effectiveParentId: string | null;
  /** 0-based position among the messages of the active path. */
  activeMessagePosition: number;
  idempotencyKey?: string;
}
export interface CommitTurnParams extends SessionParams {
  /** The turn's id: the same for each offer of one turn. */
  advancementKey: string;
  admission: TranscriptEntryAnchor & { logicalTurnId: string; role: string };
  terminal: TranscriptEntryAnchor;
  /** The admitted user message to the terminal one, both included. */
  messages: AgentMessage[];
  sessionTarget?: SessionTarget;
  isHeartbeat?: boolean;
}
