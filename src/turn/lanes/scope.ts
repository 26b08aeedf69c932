/** What both compaction lanes of the host work with. */
import type { ContextEngine } from "../../contract/engine.ts";
import type { CompactionLane, CompactionTrigger, TurnEvent } from "../../contract/events.ts";
import type { AgentHarness } from "../../contract/harness.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { ModelInfo } from "../../contract/model.ts";
import type { NewEntry } from "../../contract/transcript.ts";
import type { EngineContext } from "../engine-context.ts";
import type { Guard } from "../guard.ts";
import type { LiveSession } from "../live-session.ts";
import type { AgentHost } from "../scope.ts";

export interface LaneScope {
  host: AgentHost;
  engine: ContextEngine;
  harness: AgentHarness;
  model: ModelInfo;
  guard: Guard;
  session: LiveSession;
  context: EngineContext;
  /** Tokens the context may have afterwards. */
  tokenBudget: number;
  /** The live turn, inside one. */
  turn?: LiveTurnPort | undefined;
  signal: AbortSignal;
  emit(event: TurnEvent): void;
}

/** What a lane needs of the turn that is under way. */
export interface LiveTurnPort {
  readonly turnId: string;
  /** Entry of the turn's input; undefined while nothing is recorded. */
  inputEntryId(): string | undefined;
  /** A rotation gave the turn's entries new ids: old to new. */
  moved(ids: ReadonlyMap<string, string>): void;
  /** A summary was written: what the turn keeps of it when its input is taken back. */
  compacted(entry: NewEntry): void;
  /** The entry that the input stands behind now; null at the root. */
  rebased(leafBefore: string | null): void;
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
  /** The summary that stands now, where the transcript holds one. */
  summary?: string;
}

/** Who fails where no engine is asked, for the reason's sentence. */
export const BUILT_IN_SUMMARIZER = "The built-in summarizer";

/** The configured deadline of a compaction and of whom it asks, ms; undefined for the stage's own. */
export function compactionDeadline({ host }: LaneScope): number | undefined {
  const seconds = host.config.agents?.defaults?.compaction?.timeoutSeconds;
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Calibrated estimate of messages, tokens. */
export function contextTokens(scope: LaneScope, messages: readonly AgentMessage[]): number {
  return scope.context.runtime().tokens(messages);
}
