/** Parameters and results of the context engine's members (`engine.ts`). Tokens are estimates unless said. */
import type { AgentMessage, Usage } from "./message.ts";
import type { LlmComplete } from "./model.ts";
import type { TranscriptCursor } from "./transcript.ts";

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

/** A session named without a file path (the durable generation of the contract). */
export interface SessionTarget {
  agentId: string;
  sessionId: string;
  sessionKey: string;
  storePath: string;
}

/** Only what the runtime reported; a runtime that reports nothing leaves the whole object out. */
export interface PromptCacheInfo {
  retention?: "none" | "short" | "long" | "in_memory" | "24h";
  lastCallUsage?: { input: number; output: number; cacheRead?: number; cacheWrite?: number; total: number };
  lastCacheTouchAt?: number;
  expiresAt?: number;
}

export interface RewriteRequest {
  entryId: string;
  message: AgentMessage;
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
  tokenBudget: number;
  /** Provider-reported or calibrated; absent when the runtime does not know. */
  currentTokenCount?: number;
  /** Usage of the last model call, when it is known. */
  usage?: Usage;
  promptCache?: PromptCacheInfo;
  /** Calibrated estimate, in tokens, of a text or of messages. */
  tokens(value: string | AgentMessage | readonly AgentMessage[]): number;
  llm: { complete: LlmComplete };
  /** Appends a branch of superseding entries; never edits in place. Absent outside `maintain`. */
  rewriteTranscriptEntries?(replacements: RewriteRequest[]): Promise<TranscriptRewriteResult>;
  allowDeferredCompactionExecution: boolean;
  /** (+) The active path of the session. */
  transcript: TranscriptCursor;
  /** Focus of a manual compaction and other per-call extras of the host. */
  manualCompaction?: boolean;
}

/** Version 1 of OpenClaw's `runtimeSettings`. */
export interface RuntimeSettings {
  schemaVersion: 1;
  runtime: { host: string; mode: "normal" | "fallback" | "degraded"; harnessId: string; runtimeId: string };
  model: { requested: string; resolved: string; provider: string };
  contextEngineSelection: { selectedId: string; source: string };
  limits: { promptTokenBudget: number; maxOutputTokens: number };
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
