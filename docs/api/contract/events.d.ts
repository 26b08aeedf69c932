/** Events of a turn, as `run()` yields them and `--json` prints them, one a line. */
import type { AgentMessage, Usage } from "./message.ts";
import type { Seam } from "./receipt.ts";
import type { ToolOutcome } from "./tool.ts";
/** Names of the stages that can degrade; each is also a row of the failure policy in `src/turn/guard.ts`. */
export type Stage = "bootstrap" | "bootstrap-maintain" | "assemble" | "projection" | "compact" | "transcript" | "settle" | "maintain" | "hook" | "dispose" | "trim";
export interface Degradation {
    stage: Stage;
    reason: string;
    engineId: string;
    turnId: string;
}
export interface TurnSummary {
    sessionKey: string;
    sessionId: string;
    turnId: string;
    runtime: string;
    seam: Seam;
    model: string;
    engine: string;
    stopReason: "stop" | "aborted" | "length" | "max_steps";
    usage: Usage;
    degraded: Degradation[];
}
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
} | {
    type: "usage";
    usage: Usage;
} | {
    type: "steered";
    entryId: string;
} | {
    type: "compaction.started";
    lane: "queued" | "in-attempt" | "native";
    trigger: CompactionTrigger;
    backend: string;
    ownsCompaction: boolean;
    tokensBefore: number;
} | {
    type: "compaction.completed";
    lane: "queued" | "in-attempt" | "native";
    trigger: CompactionTrigger;
    backend: string;
    ownsCompaction: boolean;
    tokensBefore: number;
    tokensAfter: number;
    handledBy: string;
} | {
    type: "compaction.failed";
    lane: "queued" | "in-attempt" | "native";
    trigger: CompactionTrigger;
    backend: string;
    ownsCompaction: boolean;
    reason: string;
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
