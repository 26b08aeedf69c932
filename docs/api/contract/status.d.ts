/** What `pagurus status` reports. Tokens are estimates unless said, costs US dollars. */
import type { EngineStatus } from "./engine-params.ts";
import type { CompactionTrigger, ContextGauge, CostSoFar, Degradation } from "./events.ts";
import type { PlanFact } from "./skill.ts";
import type { Receipt, Seam } from "./receipt.ts";
import type { SessionRecord } from "./writer.ts";
/** A compaction of the session, newest first in a report. */
export interface CompactionFact {
    entryId: string;
    /** ISO 8601. */
    timestamp: string;
    /** Absent for entries written before lanes were recorded. */
    lane?: string;
    trigger?: CompactionTrigger;
    handledBy?: string;
    tokensBefore: number;
    tokensAfter?: number;
}
export interface SubagentFact {
    childSessionKey: string;
    contextMode: "isolated" | "fork";
    state: "running" | "ended" | "swept";
    depth: number;
    /** ISO 8601. */
    expiresAt: string;
}
export interface StatusReport {
    home: string;
    configFile: string;
    configFound: boolean;
    configWarnings: string[];
    agentId: string;
    sessionKey: string;
    session?: SessionRecord;
    interruptedTurns: string[];
    /** Another process that is running a turn of the session. */
    runningIn?: {
        pid: number;
        since: string;
    };
    /** Why a run would be refused now; empty when none of these stands in its way. */
    problems: {
        code: string;
        message: string;
    }[];
    /** A window of 0 tokens stands for one that is not known: the ref names no usable model. */
    model: {
        ref: string;
        source: string;
        contextWindow: number;
    };
    Execution: string;
    /** The id is `unavailable` where none can be chosen. */
    Runtime: {
        id: string;
        /** Where the choice comes from, in words; empty where none can be made. */
        rule: string;
        /** Why no other runtime runs the model, where another one is meant to. */
        why?: string;
    };
    /** How contexts reach the model; absent where no runtime can be chosen. */
    seam?: {
        /** That of the runtime; a turn may take another one, as `lastRequest` says. */
        usual: Seam;
        /** Id of the native thread that the session is bound to. */
        boundTo?: string;
        /** The engine governs no context, so the runtime keeps and compacts its own, and the host compacts nothing. */
        keepsContext?: true;
    };
    /** The newest request of the session to a model, as its receipt has it; absent before the first one. */
    lastRequest?: Pick<Receipt, "runtime" | "seam" | "engine" | "model" | "timestamp" | "epoch">;
    engine: {
        selected: string;
        /** `unavailable` where the engine cannot be created; contract and lifecycle are `unknown` then. */
        effective: string;
        source: string;
        contract: string;
        lifecycle: "classic" | "durable" | "unknown";
        /** As the engine calls itself. */
        name?: string;
        version?: string;
        ownsCompaction?: boolean;
        interceptsCompaction?: boolean;
        /** What the engine says of itself, where it says anything. */
        state?: EngineStatus;
        /** Why it could not say it. */
        stateProblem?: string;
    };
    /** Estimate of the next turn's context; a budget of 0 tokens stands for one that is not known. */
    context: ContextGauge;
    compactions: number;
    /** The newest ones, at most 10. */
    recentCompactions: CompactionFact[];
    /** How often, by lane and by who made them; the most frequent first. */
    compactionsBy?: {
        lane?: string;
        handledBy?: string;
        count: number;
    }[];
    /** `none` where the slot is off; sections say whether there is anything to remember. */
    memory: {
        selected: string;
        effective: string;
    };
    /** Children of the session that have not ended, and those whose result waits for the next turn. */
    subagents: SubagentFact[];
    /** Of the session's newest turns. */
    degraded: (Degradation & {
        timestamp: string;
    })[];
    lastTurn?: {
        turnId: string;
        outcome: string;
        code?: string;
    };
    /** Turns that failed, the newest first, at most 5; the codes are those of the error catalogue. */
    lastErrors?: {
        turnId: string;
        code: string;
        timestamp: string;
    }[];
    /** The session's newest plan, of whatever runtime. */
    plan?: PlanFact;
    permission: string;
    sandbox: string;
    /** Absent where the model's prices are not known. */
    cost?: CostSoFar;
}
