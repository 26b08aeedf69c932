/** A turn as its assembler sees it; a preview makes one without a turn. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { CompactionTrigger } from "@pagurus/contract/host/events";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import type { ToolSpec } from "@pagurus/contract/harness/tool";
import type { ContextSlice } from "@pagurus/contract/session/writer";
import type { Calibration } from "@pagurus/core/tokens/calibration";
import type { EngineContext } from "../engine/engine-context.ts";
import type { Guard } from "../guard/guard.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import type { AgentHost } from "../agent/agent-host.ts";

/** Values that can change within a turn are read at each use. */
export interface ContextScope {
  readonly host: AgentHost;
  readonly engine: ContextEngine;
  readonly harness: AgentHarness;
  readonly model: ModelInfo;
  readonly guard: Guard;
  readonly context: EngineContext;
  readonly sessionKey: string;
  /** Empty while the session does not exist. */
  readonly sessionId: string;
  readonly turnId: string;
  readonly signal: AbortSignal;
  /** Entry of the live turn's input; undefined while nothing is recorded. */
  readonly inputEntryId: string | undefined;
  /** Text of the input. */
  readonly prompt: string;
  readonly system: readonly SystemPiece[];
  /** `narrow` is absent where nothing is run. */
  readonly tools: { readonly specs: readonly ToolSpec[]; narrow?(names: readonly string[]): void };
  /** Tokens of history and live turn. */
  readonly tokenBudget: number;
  /** Tokens of system prompt and tools. */
  readonly fixedTokens: number;
  readonly toolResultMaxChars: number;
  /** Live messages without an entry in the session, in order. */
  readonly volatile: readonly VolatileMessage[];
  /** The runtime keeps and compacts the context itself: it receives the whole conversation, whatever the budget. */
  readonly isKept: boolean;
  calibration(): Calibration;
  slice(): ContextSlice;
  /** Reads what `slice` returns and counts its tokens, so that others run between long messages. Absent: `slice` reads it. */
  prepareSlice?(): Promise<void>;
  /** Messages of earlier turns that the engine has not committed; a `history: "live"` engine receives only these. */
  pending(): AgentMessage[];
  /**
   * Called after each assembly. Re-injects fragments that the new context dropped; returns true when it did, and the slice then has them.
   * Absent: nothing is injected.
   */
  settleFragments?(sent: readonly AgentMessage[]): boolean;
  /** Returns whether the context has become smaller. Absent: no compaction is allowed. */
  compact?(lane: Lane, trigger: CompactionTrigger, currentTokens: number): Promise<boolean>;
}

export type Lane = "queued" | "in-attempt";

/** A message of the live turn that is not in the transcript, such as a subagent's result. */
export interface VolatileMessage {
  message: UserMessage;
  /** Entry that it comes after. */
  after: string | undefined;
}
