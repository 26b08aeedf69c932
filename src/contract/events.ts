/** Events of a turn, as `run()` yields them and `--json` prints them, one a line. */
import type { AgentMessage, Usage } from "./message.ts";
import type { Seam } from "./receipt.ts";
import type { RuntimeReason } from "./runtimes.ts";
import type { ToolOutcome } from "./tool.ts";

/** Names of the stages that can degrade; each is also a row of the failure policy in `src/turn/guard.ts`. */
export type Stage =
  | "bootstrap"
  | "bootstrap-maintain"
  | "assemble"
  | "projection"
  | "compact"
  | "intercept"
  | "memory"
  | "subagent"
  | "tools"
  | "transcript"
  | "settle"
  | "maintain"
  | "hook"
  | "dispose"
  | "trim";

export interface Degradation {
  stage: Stage;
  reason: string;
  engineId: string;
  turnId: string;
}

/** How full the context is, and what makes it smaller next. Tokens. */
export interface ContextGauge {
  tokens: number;
  /** Tokens at which a compaction is due; 0 where the window is not known. */
  budget: number;
  /** Lane and handler of the compaction before the next turn, when the context has grown to the budget. */
  next?: { lane: "queued" | "in-attempt"; handler: string };
  /** The same when it grows to the budget inside a turn. */
  inTurn?: { lane: "queued" | "in-attempt"; handler: string };
}

/** US dollars. A figure is absent where prices are not known. */
export interface CostSoFar {
  turn?: number;
  session?: number;
  /** All sessions of the agent since local midnight. */
  day?: number;
  /** The limits in force. */
  limits?: { turn?: number; session?: number; day?: number };
}

export interface TurnSummary {
  sessionKey: string;
  sessionId: string;
  turnId: string;
  runtime: string;
  /** Why this runtime. */
  runtimeReason?: RuntimeReason;
  seam: Seam;
  model: string;
  engine: string;
  stopReason: "stop" | "aborted" | "length" | "max_steps";
  usage: Usage;
  degraded: Degradation[];
  context?: ContextGauge;
  cost?: CostSoFar;
}

export interface PlanStep {
  step: string;
  status: "pending" | "inProgress" | "completed";
}

export type CompactionLane = "queued" | "in-attempt" | "native";

export type TurnEvent =
  | {
      type: "turn.started";
      sessionKey: string;
      sessionId: string;
      turnId: string;
      runtime: string;
      model: string;
      engine: string;
      seam: Seam;
    }
  | { type: "notice"; kind: string; detail: string }
  | { type: "text.delta"; delta: string }
  | { type: "thinking.delta"; delta: string }
  | { type: "message"; message: AgentMessage }
  | { type: "tool.started"; toolCallId: string; toolName: string; arguments: Record<string, unknown> }
  | { type: "tool.output"; toolCallId: string; chunk: string }
  | { type: "tool.completed"; toolCallId: string; toolName: string; outcome: ToolOutcome }
  | { type: "model.request"; request: number; tokens: number; sharedTokens: number }
  | { type: "model.retry"; attempt: number; delayMs: number; reason: string }
  | { type: "usage"; usage: Usage }
  /** The agent's plan as it is now, whole. */
  | { type: "plan.updated"; explanation?: string; steps: PlanStep[] }
  /** Unified diff of the files that the turn has changed so far. */
  | { type: "diff.updated"; diff: string }
  | { type: "steered"; entryId: string }
  | {
      type: "compaction.started";
      lane: CompactionLane;
      trigger: CompactionTrigger;
      backend: string;
      ownsCompaction: boolean;
      tokensBefore: number;
    }
  | {
      type: "compaction.completed";
      lane: CompactionLane;
      trigger: CompactionTrigger;
      backend: string;
      ownsCompaction: boolean;
      tokensBefore: number;
      tokensAfter: number;
      handledBy: string;
    }
  | {
      type: "compaction.failed";
      lane: CompactionLane;
      trigger: CompactionTrigger;
      backend: string;
      ownsCompaction: boolean;
      tokensBefore: number;
      /** Who made none: an engine, `built-in`, `safeguard`, or the plugin that cancelled. */
      handledBy: string;
      reason: string;
    }
  | { type: "subagent.started"; childSessionKey: string; contextMode: "isolated" | "fork"; depth: number }
  | { type: "subagent.ended"; childSessionKey: string; outcome: "completed" | "failed" | "aborted" }
  | ({ type: "context.degraded" } & Degradation)
  | ({ type: "turn.completed" } & TurnSummary)
  | {
      type: "turn.failed";
      sessionKey?: string;
      sessionId?: string;
      turnId?: string;
      error: { code: string; message: string };
      degraded: Degradation[];
    };

export type CompactionTrigger = "threshold" | "overflow" | "manual";
