/** Parameters and results of the context engine's members (`engine.ts`). Tokens are estimates unless said. */
import type { AgentMessage } from "./message.ts";
import type { RuntimeContext, RuntimeSettings, SessionTarget } from "./runtime-context.ts";

interface SessionParams {
  sessionId: string;
  sessionKey?: string;
  runtimeContext?: RuntimeContext;
  runtimeSettings?: RuntimeSettings;
}
interface FileParams extends SessionParams {
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
  citationsMode?: "auto" | "on" | "off";
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

export interface CompactParams extends FileParams {
  tokenBudget?: number;
  force?: boolean;
  currentTokenCount?: number;
  compactionTarget?: "budget" | "threshold";
  customInstructions?: string;
  abortSignal?: AbortSignal;
}
export interface CompactResult {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: {
    summary?: string;
    firstKeptEntryId?: string;
    /** Set with a `firstKeptEntryId` inside the live turn: the turn's input, which stays before the summary. */
    splitTurnInputId?: string;
    origin?: "model" | "extractive" | "engine";
    tokensBefore: number;
    tokensAfter?: number;
    details?: unknown;
    sessionId?: string;
    sessionFile?: string;
    sessionTarget?: SessionTarget;
  };
  /** The successor of a rotating compaction is also read here. */
  sessionId?: string;
  sessionFile?: string;
}

export interface CompactionInterceptRequest {
  sessionId: string;
  sessionKey?: string;
  sessionFile: string;
  contextWindow: number;
  currentTokenCount?: number;
  firstKeptEntryId: string;
  tokensBefore: number;
  messages: AgentMessage[];
  customInstructions?: string;
  trigger: "threshold" | "overflow" | "manual";
  backend: string;
  signal: AbortSignal;
}
export type CompactionInterceptResult =
  | { handled: true; summary: string; firstKeptEntryId: string; tokensBefore: number; details?: unknown }
  | { handled: false; reason: string };

export interface MaintainParams extends FileParams {
  abortSignal?: AbortSignal;
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
  generation: number;
  entryId: string;
  rawSeq: number;
  effectiveParentId: string | null;
  activeMessagePosition: number;
  idempotencyKey?: string;
}
export interface CommitTurnParams extends SessionParams {
  /** The same for each offer of one turn. */
  advancementKey: string;
  admission: TranscriptEntryAnchor & { logicalTurnId: string; role: string };
  terminal: TranscriptEntryAnchor;
  /** The admitted user message to the terminal one, both included. */
  messages: AgentMessage[];
  sessionTarget?: SessionTarget;
  isHeartbeat?: boolean;
}
