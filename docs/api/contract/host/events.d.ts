/** Events of a turn, as `run()` yields them and `--json` prints them, one per line. */
import type { ModelFallback } from "../fallback.ts";
import type { AgentMessage, Usage } from "../message.ts";
import type { CostSoFar } from "./cost.ts";
import type { Seam } from "../session/receipt.ts";
import type { RuntimeReason } from "../harness/runtimes.ts";
import type { ToolOutcome } from "../harness/tool.ts";
/** Stages that can degrade; each is also a row of the failure policy in `packages/host/src/turn/guard/guard.ts`. */
export type Stage = "bootstrap" | "bootstrap-maintain" | "assemble" | "projection" | "answer" | "compact" | "intercept" | "memory" | "subagent" | "tools" | "transcript" | "settle" | "maintain" | "hook" | "plugin" | "dispose" | "trim";
export interface Degradation {
    stage: Stage;
    reason: string;
    engineId: string;
    turnId: string;
}
/** How full the context is, in tokens, and which compaction comes next. */
export interface ContextGauge {
    tokens: number;
    /** Tokens that fit beside instructions, tools and answer; 0 where the window is unknown. */
    budget: number;
    /** Tokens above which the next compaction is made: the smaller of budget and engine's trigger. Absent where the runtime decides. */
    compactsAt?: number;
    /** Tool results in it that are shortened or cleared for their age; absent: none. */
    agedResults?: number;
    /** Lane and handler of the compaction before the next turn, when the context has grown to the budget. */
    next?: {
        lane: "queued" | "in-attempt";
        handler: string;
    };
    /** The same for a context that grows to the budget inside a turn. */
    inTurn?: {
        lane: "queued" | "in-attempt";
        handler: string;
    };
}
export interface TurnSummary {
    sessionKey: string;
    sessionId: string;
    turnId: string;
    runtime: string;
    /** Why this runtime. */
    runtimeReason?: RuntimeReason;
    seam: Seam;
    /** The model that answered last. */
    model: string;
    /** Absent where no other model took over. */
    fallbacks?: ModelFallback[];
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
/** `engine`: a compaction that an engine made on its own, reported when its contexts have a new epoch. */
export type CompactionLane = "queued" | "in-attempt" | "harness" | "engine";
export type TurnEvent = {
    type: "turn.started";
    sessionKey: string;
    sessionId: string;
    turnId: string;
    runtime: string;
    model: string;
    engine: string;
    seam: Seam;
} | {
    type: "notice";
    kind: string;
    detail: string;
} | {
    type: "text.delta";
    delta: string;
} | {
    type: "thinking.delta";
    delta: string;
} | {
    type: "message";
    message: AgentMessage;
} | {
    type: "tool.started";
    toolCallId: string;
    toolName: string;
    arguments: Record<string, unknown>;
} | {
    type: "tool.output";
    toolCallId: string;
    chunk: string;
} | {
    type: "tool.completed";
    toolCallId: string;
    toolName: string;
    outcome: ToolOutcome;
} | {
    type: "model.request";
    request: number;
    tokens: number;
    sharedTokens: number;
} | {
    type: "model.retry";
    attempt: number;
    delayMs: number;
    reason: string;
} | ({
    type: "model.fallback";
} & ModelFallback) | {
    type: "usage";
    usage: Usage;
}
/** The agent's complete current plan. */
 | {
    type: "plan.updated";
    explanation?: string;
    steps: PlanStep[];
}
/** Unified diff of the files that the turn has changed so far. */
 | {
    type: "diff.updated";
    diff: string;
} | {
    type: "steered";
    entryId: string;
} | {
    type: "compaction.started";
    lane: CompactionLane;
    trigger: CompactionTrigger;
    backend: string;
    ownsCompaction: boolean;
    /** For the lane `harness`, the runtime's own count; 0 if it has none. */
    tokensBefore: number;
} | {
    type: "compaction.completed";
    lane: CompactionLane;
    trigger: CompactionTrigger;
    backend: string;
    ownsCompaction: boolean;
    /** For the lane `harness`, both are the runtime's own counts; 0 if it has none. */
    tokensBefore: number;
    tokensAfter: number;
    handledBy: string;
} | {
    type: "compaction.failed";
    lane: CompactionLane;
    trigger: CompactionTrigger;
    backend: string;
    ownsCompaction: boolean;
    tokensBefore: number;
    /** Who declined: an engine, `built-in`, `safeguard`, or the plugin that cancelled. */
    handledBy: string;
    reason: string;
} | {
    type: "subagent.started";
    childSessionKey: string;
    contextMode: "isolated" | "fork";
    depth: number;
} | {
    type: "subagent.ended";
    childSessionKey: string;
    outcome: "completed" | "failed" | "aborted";
} | ({
    type: "context.degraded";
} & Degradation) | ({
    type: "turn.completed";
} & TurnSummary) | {
    type: "turn.failed";
    sessionKey?: string;
    sessionId?: string;
    turnId?: string;
    error: {
        code: string;
        message: string;
    };
    degraded: Degradation[];
};
export type CompactionTrigger = "threshold" | "overflow" | "manual";
