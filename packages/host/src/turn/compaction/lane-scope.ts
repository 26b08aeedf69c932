/** What a compaction works on: a running turn, or a session between turns. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { CompactionLane, CompactionTrigger, TurnEvent } from "@pagurus/contract/host/events";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import { asSent } from "../context/sent-messages.ts";
import type { EngineContext } from "../engine/engine-context.ts";
import type { Guard } from "../guard/guard.ts";
import type { LiveSession } from "../record/live-session.ts";
import type { SubagentResults } from "../context/subagent-messages.ts";
import type { Recorder } from "../record/record-turn.ts";
import type { AgentHost } from "../agent/agent-host.ts";

export interface LaneScope {
  readonly host: AgentHost;
  readonly engine: ContextEngine;
  readonly harness: AgentHarness;
  readonly model: ModelInfo;
  readonly guard: Guard;
  readonly session: LiveSession;
  readonly context: EngineContext;
  /** Token budget of the context afterwards. */
  readonly tokenBudget: number;
  /** The live turn, when the lane runs inside one. */
  readonly turnId?: string;
  readonly recorder?: Recorder;
  readonly results?: SubagentResults;
  readonly signal: AbortSignal;
  emit(event: TurnEvent): void;
}

export interface LaneFacts {
  lane: CompactionLane;
  trigger: CompactionTrigger;
  /** Who runs the lane: `engine`, or the runtime's id. */
  backend: string;
}

export interface CompactionOutcome {
  compacted: boolean;
  reason?: string;
  tokensBefore?: number;
  tokensAfter?: number;
  /** The current summary, when the transcript has one. */
  summary?: string;
}

/** Subject of a failure's sentence when no engine is involved. */
export const BUILT_IN_SUMMARIZER = "The built-in summarizer";

/** The configured deadline of a compaction and of its calls, ms; undefined for the stage's own. */
export function compactionDeadline({ host }: LaneScope): number | undefined {
  const seconds = host.config.agents?.defaults?.compaction?.timeoutSeconds;
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Calibrated estimate of messages as they are sent, tokens. */
export function contextTokens(
  { host, model, tokenBudget, context }: LaneScope,
  messages: readonly AgentMessage[],
): number {
  return context.runtime().tokens(asSent(host, { window: model.contextWindow, tokenBudget }, messages));
}
