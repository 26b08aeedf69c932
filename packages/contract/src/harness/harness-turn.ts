/** The turn as a harness gets it: plain data, its tools, and three parts: its context, its native thread, its input and output. */
import type { PagurusError } from "../errors.ts";
import type { AdditionalContext, Fragment } from "../fragment.ts";
import type { Stage, TurnEvent } from "../host/events.ts";
import type { PermissionMode } from "../host/permission-modes.ts";
import type { AgentMessage, ImagePart, TextPart, Usage, UserMessage } from "../message.ts";
import type { ModelInfo } from "../model.ts";
import type { CacheReport, OwnParts, ReceiptPart, Seam } from "../session/receipt.ts";
import type { HarnessBinding } from "./native.ts";
import type { CompactionQuestion } from "./native-compaction.ts";
import type { ToolSet } from "./tool.ts";

/** The next context for the model, in order. */
export interface AssembledContext {
  /** The final system prompt (or developer instructions), additions and hooks applied. */
  system: string;
  /** History and live turn as they will be sent. */
  messages: AgentMessage[];
  /** Number of `messages` before the live turn's input; the last of them are the input's fragments. */
  historyCount: number;
  estimatedTokens: number;
  /** Output tokens that a cost limit still pays for; absent without one. */
  maxOutputTokens?: number;
  /** The span in which contexts only grow at their end. */
  projection?: { mode: "thread_bootstrap" | "per_turn"; epoch?: string; fingerprint?: string };
  /** Whether `system` contains an addition of the engine. */
  hasSystemPromptAddition?: boolean;
  /** That addition alone, for a runtime whose base instructions are its own. */
  systemPromptAddition?: string;
  /** Why this is the plain history instead of the engine's answer; absent when it is the engine's. */
  degraded?: string;
  /** The provider's id of its answer to the session's previous request, for its diagnosis of cache misses; absent where unknown. */
  previousResponseId?: string;
}

type PromptContext = Pick<AssembledContext, "messages" | "historyCount" | "projection" | "degraded">;

/** Steering input with its set of additional context, which replaces the previous one; null if none came. */
export type SteeringMessage = UserMessage & { additionalContext?: AdditionalContext | null };

export interface HarnessTurn {
  readonly sessionKey: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly cwd: string;
  /** Changes when a fallback model takes over (`context.fallback`); the budget and `thinking` change with it. */
  readonly model: ModelInfo;
  /** Host agent that owns the turn. */
  readonly hostAgentId: string;
  /** Agent named by the model's policy, for a runtime that drives several. */
  readonly agentId?: string;
  /** The user's message, already in the transcript. */
  readonly input: UserMessage & { content: (TextPart | ImagePart)[] };
  /** Base instructions, before the engine's addition and hooks. */
  readonly instructions: string;
  /** Token budget of history and live turn. */
  readonly tokenBudget: number;
  /** Maximum model calls of the turn. */
  readonly maxSteps: number;
  readonly thinking?: "off" | "low" | "medium" | "high" | undefined;
  /** Retry limits for a failing model, ms, for a runtime that calls it itself; absent: the runtime's own. `limit`: what sets them. */
  readonly retry?: { maxElapsedMs: number; maxMs?: number; limit?: string };
  /** The permission mode of the user for tools; `tools.permits` decides each call. */
  readonly permissionMode: PermissionMode;
  /** `governs`: false where the slot has a pass-through engine, so that a runtime manages the context in its own way. */
  readonly engine: { id: string; governs: boolean; ownsCompaction: boolean };
  /** Aborted when the turn has to end: by its caller, by its deadline, or because the transcript cannot be written. */
  readonly signal: AbortSignal;
  readonly tools: ToolSet;
  readonly context: TurnContext;
  readonly thread: TurnThread;
  readonly io: TurnIo;
}

/** The context that the model sees in the turn. */
export interface TurnContext {
  /**
   * Runs the engine under the failure policy. Call it at the runtime's seam, before each model call (or each turn of a thread).
   * With `overflow` the provider has just refused the context as too long: the host compacts first. `fixedTokens`: measured
   * tokens that the harness adds to the request by itself (system prompt, tools); they count against the window from now on,
   * replacing the earlier figure. `promptText`: the prompt as the harness gets it, for hooks; default: the user's text. Throws
   * `turn_aborted`, `context_overflow`, `live_turn_too_large`.
   */
  assemble(request?: {
    overflow?: { message: string };
    fixedTokens?: number;
    promptText?(context: PromptContext): string;
  }): Promise<AssembledContext>;
  /**
   * For the runtime `embedded`: a call of `turn.model` failed. Returns the context for the next model of the configured chain, which is
   * `turn.model` from then on; in other runtimes there is none. `shown`: text of the answer was shown, so that no other model may start again. Throws the
   * failure, with what was tried, where another model cannot help or none is left.
   */
  fallback(failure: PagurusError, progress: { shown: boolean }): Promise<AssembledContext>;
  /**
   * Records the content of a model request, once it is sent, and its usage, once known, with what the answer reports about the
   * provider's cache. `parts`: what a thread shows beside the assembled context, such as replaced instructions; they count in the gauge. `seam`: how the context reaches the model in this turn, where that is not the harness's usual one. `failed`: the request has ended with an error and no usage is known, so its cost is reserved no longer. Never throws.
   */
  receipt(request: {
    failed?: true;
    parts?: ReceiptPart[];
    usage?: Usage;
    cache?: CacheReport;
    own?: OwnParts | undefined;
    seam?: Seam;
  }): void;
  /**
   * Offers a compaction that the harness is about to make to the engine (`interceptCompaction`), with what is kept and what is
   * not. Returns the summary; undefined: the harness compacts in its own way. Announces the compaction where the engine
   * answers. Never throws.
   */
  answerCompaction(question: CompactionQuestion): Promise<{ summary: string } | undefined>;
  /**
   * Fragments that this turn has injected so far, in order: those of the input from the start, those of a steering text once it
   * is taken, and after `assemble` those that a compaction had dropped from the context. Assembled contexts contain them in
   * place; this is for a runtime that passes them to a thread by itself.
   */
  readonly fragments: readonly Fragment[];
  /** Additional context of the turn's input, from the caller and the host, for a runtime that de-duplicates by itself; null if there is none. */
  readonly additionalContext: AdditionalContext | null;
  /**
   * Reports that the runtime's own compaction dropped the fragments. Returns those of the current set, recorded again, for the
   * runtime to inject. Never throws.
   */
  fragmentsLost(): readonly Fragment[];
  /** Messages of the turn so far, as recorded; one that could not be written lacks its entry id. Never throws. */
  messages(): readonly AgentMessage[];
  /** Transcript entry of the turn's newest message; undefined while that is not written. Never throws. */
  newestEntryId(): string | undefined;
}

/** The session's native thread in the runtime. */
export interface TurnThread {
  /** The thread of earlier turns, if any. Never throws. */
  binding(): HarnessBinding | undefined;
  /** Stores the binding, or (undefined) removes it; visible to each process at once. A failure is a degradation; never throws. */
  bind(binding: HarnessBinding | undefined): void;
}

/** Input that joins the turn, and its events. */
export interface TurnIo {
  /** Input that arrived since the last call; already in the transcript. Never throws. */
  takeInputs(): Promise<SteeringMessage[]>;
  /** Resolves when steering has arrived, or when no more input can join the turn. One caller at a time. Never throws. */
  inputArrives(): Promise<void>;
  /** Reports progress. Awaiting a `message` event means that the entry is written. Never throws. */
  emit(event: TurnEvent): Promise<void>;
  /** Reports a degradation of a stage; the turn continues. Never throws. */
  degrade(stage: Stage, reason: string): void;
}
