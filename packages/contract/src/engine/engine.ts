/**
 * The context engine contract: both generations of the OpenClaw contract, and our additions, marked (+).
 * Sources: the design's "The contract"; context-engine page, "The ContextEngine interface".
 * Parameters and results of each member are in `engine-params.ts`.
 */
import type {
  AfterTurnParams,
  AssembleParams,
  AssembleResult,
  BootstrapParams,
  BootstrapResult,
  CommitTurnParams,
  EngineStatus,
  EngineStatusParams,
  IngestBatchParams,
  IngestParams,
  MaintainParams,
  SubagentEndedParams,
  SubagentSpawnParams,
} from "./engine-params.ts";
import type {
  CompactParams,
  CompactResult,
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "./engine-compaction.ts";
import type { TranscriptRewriteResult } from "./runtime-context.ts";

/** Abilities of a runtime that an engine can require; the vocabulary of `hostRequirements`. */
export type HostCapability =
  | "bootstrap"
  | "assemble-before-prompt"
  | "after-turn"
  | "maintain"
  | "compact"
  | "runtime-llm-complete"
  | "thread-bootstrap-projection";

export type HostOperation = "agent-run" | "subagent-spawn" | "compaction";

export interface HostRequirement {
  requiredCapabilities: HostCapability[];
  /** Shown to the user when the runtime cannot meet the requirement. */
  unsupportedMessage?: string;
}

export interface ContextEngineInfo {
  id: string;
  name: string;
  version?: string;
  /** The contract the engine was written for (+), `ENGINE_CONTRACT`; absent means OpenClaw's. */
  contract?: string;
  /** True: the engine does `/compact`, overflow recovery and proactive compaction; the run's own compaction is off. */
  ownsCompaction?: boolean;
  /** True: the in-attempt lane offers its compactions to `interceptCompaction` first. */
  interceptsCompaction?: boolean;
  turnMaintenanceMode?: "foreground" | "background";
  /** Optional parameters that the engine reads; undeclared means all. Base parameters are always passed. */
  acceptedHostParams?: string[];
  /** Durable engines: how turns are fenced and advanced. */
  transcriptSemantics?: {
    currentTurnFence?: "before-current-turn-entry-v1";
    turnAdvancementIdempotency?: "atomic-idempotent-v1";
  };
  /** (+) `live`: the engine keeps the history; `messages` holds only those that it has not committed yet. */
  history?: "full" | "live";
  /** (+) `call`: called before every model call; `turn` (default): once per turn and after each compaction. */
  assembleScope?: "call" | "turn";
  /**
   * (+) False: a pass-through engine that decides nothing about the context. A runtime that keeps its own context then keeps
   * it, and the host adds the active memory section. Default true.
   */
  governsContext?: boolean;
  /** `manual-compact` is OpenClaw's name for `compaction`; both are accepted. */
  hostRequirements?: Partial<Record<HostOperation | "manual-compact", HostRequirement>>;
}

export interface ContextEngine {
  readonly info: ContextEngineInfo;
  /**
   * Called once for a session that already had history when this engine first sees it, before the turn opens; absence means
   * there is nothing to initialize. May throw: the host warns and continues. Deadline 60 s.
   */
  bootstrap?(params: BootstrapParams): Promise<BootstrapResult>;
  /** Called for each message of a settled turn when the three members below are absent. May throw: the turn's
   * finalization is marked unsuccessful and its messages are offered again. Deadline 30 s. */
  ingest(params: IngestParams): Promise<{ ingested: boolean }>;
  /** Like `ingest`, with all messages of the turn at once; preferred over it. May throw: as `ingest`. Deadline 30 s. */
  ingestBatch?(params: IngestBatchParams): Promise<{ ingestedCount: number }>;
  /**
   * Called before a model run (see `assembleScope`). May throw: the host falls back to the plain history within the budget and
   * the original prompt, with a warning. Deadline 15 s. Safe value: the input messages.
   */
  assemble(params: AssembleParams): Promise<AssembleResult>;
  /**
   * Called once after a turn, completed or not, when the turn is in the transcript (not for an input that was taken back
   * because its turn failed before any answer); preferred over `ingest*`.
   * May throw: as `ingest`. Deadline 30 s.
   */
  afterTurn?(params: AfterTurnParams): Promise<void>;
  /**
   * Called for `/compact`, overflow recovery and before a prompt that would not fit, also when `ownsCompaction` is false. May
   * throw: the compaction fails, history is untouched, nothing is retried as a fresh prompt.
   */
  compact(params: CompactParams): Promise<CompactResult>;
  /** Called by the in-attempt lane when `interceptsCompaction` is true. A throw, `handled: false` or the deadline
   * lets the default compaction run. */
  interceptCompaction?(request: CompactionInterceptRequest): Promise<CompactionInterceptResult>;
  /**
   * Called after a successful turn that was neither aborted nor yielded, and after `bootstrap`. May throw: warned. Deadline 60
   * s.
   */
  maintain?(params: MaintainParams): Promise<TranscriptRewriteResult>;
  /** Called before a child session exists; the returned rollback runs if the spawn fails afterwards. */
  prepareSubagentSpawn?(params: SubagentSpawnParams): Promise<{ rollback(): Promise<void> } | undefined>;
  /** Called once when a child ends, is deleted, released or swept. May throw: warned. */
  onSubagentEnded?(params: SubagentEndedParams): Promise<void>;
  /**
   * Exactly-once commit, preferred over all others when present; the same key twice returns `duplicate`. May throw: the turn is
   * offered again. Deadline 30 s.
   */
  commitTurn?(params: CommitTurnParams): Promise<{ status: "committed" | "duplicate" }>;
  /**
   * (+) Called for `pagurus status`, outside of turns; read-only. May throw: the report shows the error. Deadline 5 s.
   */
  status?(params: EngineStatusParams): Promise<EngineStatus>;
  /** Called at shutdown and plugin reload, not per session. Deadline 10 s. */
  dispose?(): Promise<void>;
}

/** Input of an engine factory, which may return a promise. */
export interface EngineFactoryContext {
  config?: unknown;
  agentDir?: string;
  workspaceDir?: string;
}
export type ContextEngineFactory = (context: EngineFactoryContext) => ContextEngine | Promise<ContextEngine>;
