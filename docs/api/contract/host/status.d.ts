/** What `pagurus status` reports. Token counts are estimates unless noted; costs are US dollars. */
import type { EngineStatus } from "../engine/engine-params.ts";
import type { ModelCooldown, ModelFallback } from "../fallback.ts";
import type { CostSoFar } from "./cost.ts";
import type { CompactionTrigger, ContextGauge, Degradation } from "./events.ts";
import type { PluginFact } from "./plugin.ts";
import type { PlanFact } from "./skill.ts";
import type { Receipt, Seam } from "../session/receipt.ts";
import type { SessionRecord } from "../session/writer.ts";
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
    /** The engine stores its replacement of the older messages itself; the transcript holds no summary. */
    kept?: true;
}
export interface SubagentFact {
    childSessionKey: string;
    contextMode: "isolated" | "fork";
    state: "running" | "ended" | "swept";
    depth: number;
    /** ISO 8601. */
    expiresAt: string;
}
/** The configured fallback models, and what became of them. */
export interface FallbackFacts {
    /** Model refs, in order; one that names no model is as configured. */
    models: string[];
    /** False where the runtime is another one than `embedded` and calls its model itself. */
    applied: boolean;
    /** Cooldowns that have not ended, of any model of the home; the longest first. */
    cooldowns: ModelCooldown[];
    /** Takeovers in the session, newest first, at most 5. */
    recent: (ModelFallback & {
        turnId: string;
        timestamp: string;
    })[];
}
export interface StatusRequest {
    sessionKey?: string;
    agentId?: string;
    cwd?: string;
    /** Model ref and runtime of the next turn, as in `run`; default: the configured ones. */
    model?: string | undefined;
    runtime?: string | undefined;
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
    /** The user's plugins that have something to report. */
    plugins?: readonly PluginFact[];
    /** Why a run would be refused now; empty when nothing prevents it. */
    problems: {
        code: string;
        message: string;
    }[];
    /** A window of 0 tokens means unknown: the ref names no usable model, or the model of a wrapped program. */
    model: {
        ref: string;
        source: string;
        contextWindow: number;
    };
    /** Absent if none are configured and none took over. */
    fallbacks?: FallbackFacts;
    Execution: string;
    /** The id is `unavailable` where none can be chosen. */
    Runtime: {
        id: string;
        /** Origin of the choice as text; empty if none can be made. */
        rule: string;
        /** Why no other runtime runs the model, where another one is intended. */
        why?: string;
    };
    /** How contexts reach the model; absent where no runtime can be chosen. */
    seam?: {
        /** The runtime's usual seam; a turn may use another one, see `lastRequest`. */
        usual: Seam;
        /** Id of the native thread that the session is bound to. */
        boundTo?: string;
        /** The engine governs no context, so the runtime keeps and compacts its own and the host compacts nothing. */
        keepsContext?: true;
    };
    /** The session's newest model request, from its receipt; absent before the first one. */
    lastRequest?: Pick<Receipt, "runtime" | "seam" | "engine" | "model" | "timestamp" | "epoch">;
    /**
     * The session follows a wrapped program of the user (`pagurus wire`), by its newest request: the program's model, and the
     * budget that applies there. `model`, `Execution`, `Runtime` and `seam` are the program's then; permission and sandbox of the host apply
     * to `run` and `chat` only.
     */
    wrapped?: {
        program: string;
        runtime: string;
        model: string;
        tokenBudget: number;
    };
    engine: {
        selected: string;
        /** `unavailable` where the engine cannot be created; contract and lifecycle are `unknown` then. */
        effective: string;
        source: string;
        contract: string;
        lifecycle: "classic" | "durable" | "unknown";
        /** The engine's name for itself. */
        name?: string;
        version?: string;
        /** False: a pass-through engine, so a runtime manages the context in its own way. */
        governs?: boolean;
        ownsCompaction?: boolean;
        interceptsCompaction?: boolean;
        /** The engine's own report, if it has one. */
        state?: EngineStatus;
        /** Why the report is missing. */
        stateProblem?: string;
    };
    /** Estimate of the next turn's context; a budget of 0 tokens means unknown. */
    context: ContextGauge;
    compactions: number;
    /** The newest ones, at most 10. */
    recentCompactions: CompactionFact[];
    /** Counts by lane and handler; the most frequent first. */
    compactionsBy?: {
        lane?: string;
        handledBy?: string;
        count: number;
    }[];
    /** `none` where the slot is off; the sections show whether there is anything to remember. */
    memory: {
        selected: string;
        effective: string;
    };
    /** Bytes on the disk of the checkpoints of files; absent without any. */
    checkpoints?: {
        folder: number;
        all: number;
    };
    /** Running children of the session, and those whose result waits for the next turn. */
    subagents: SubagentFact[];
    /** Degradations of the session's newest turns. */
    degraded: (Degradation & {
        timestamp: string;
    })[];
    lastTurn?: {
        turnId: string;
        outcome: string;
        code?: string;
    };
    /** Failed turns, newest first, at most 5; the codes are those of the error catalogue. */
    lastErrors?: {
        turnId: string;
        code: string;
        timestamp: string;
    }[];
    /** The session's newest plan, of any runtime. */
    plan?: PlanFact;
    permission: string;
    sandbox: string;
    /** Absent where the model's prices are unknown. */
    cost?: CostSoFar;
}
