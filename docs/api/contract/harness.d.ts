/**
 * The harness contract: the code behind an agent runtime. A harness never sees the engine, the config or the
 * store; all that it needs of them is in the turn it is handed. Source: the design's "The way of a turn".
 */
import type { HostCapability } from "./engine.ts";
import type { Stage, TurnEvent } from "./events.ts";
import type { AdditionalContext, Fragment } from "./fragment.ts";
import type { AgentMessage, ImagePart, TextPart, Usage, UserMessage } from "./message.ts";
import type { ModelInfo } from "./model.ts";
import type { HarnessOwn } from "./harness-own.ts";
import type { HarnessBinding, HarnessThreads, NativeCompaction } from "./native.ts";
import type { CompactionQuestion, NativeCompactionRequest } from "./native-compaction.ts";
import type { ReceiptPart, Seam } from "./receipt.ts";
import type { RuntimeTraits } from "./runtimes.ts";
import type { ToolSet } from "./tool.ts";
export type { HarnessBinding, NativeCompaction } from "./native.ts";
export type { CompactionQuestion, NativeCompactionRequest } from "./native-compaction.ts";
/** What the model sees next, in order. */
export interface AssembledContext {
    /** The final system prompt (or developer instructions), additions and hooks applied. */
    system: string;
    /** History and live turn as they are to be sent. */
    messages: AgentMessage[];
    /** How many of `messages` stand before the live turn's input; the input's fragments are the last of them. */
    historyCount: number;
    estimatedTokens: number;
    /** Most output tokens that a cost limit pays for; absent without one. */
    maxOutputTokens?: number;
    /** Names the span in which contexts only grow at their end. */
    projection?: {
        mode: "thread_bootstrap" | "per_turn";
        epoch?: string;
        fingerprint?: string;
    };
    /** `system` holds an addition of the engine. */
    hasSystemPromptAddition?: boolean;
    /** That addition alone, for a runtime whose base instructions are its own. */
    systemPromptAddition?: string;
    /** Why this is the plain history and not the engine's answer; absent when it is. */
    degraded?: string;
}
/** Steering input with the set that came with it, which takes the place of the one before; null where none came. */
export type SteeringMessage = UserMessage & {
    additionalContext?: AdditionalContext | null;
};
export interface HarnessTurn {
    readonly sessionKey: string;
    readonly sessionId: string;
    readonly turnId: string;
    readonly cwd: string;
    readonly model: ModelInfo;
    /** Agent of the host whose turn it is. */
    readonly hostAgentId: string;
    /** Agent that the policy for the model names, for a runtime that drives several. */
    readonly agentId?: string;
    /** The user's message, already in the transcript. */
    readonly input: UserMessage & {
        content: (TextPart | ImagePart)[];
    };
    /** Base instructions, before the engine's addition and hooks. */
    readonly instructions: string;
    /** Tokens that history and live turn may take. */
    readonly tokenBudget: number;
    /** Most model calls of the turn. */
    readonly maxSteps: number;
    readonly thinking?: "off" | "low" | "medium" | "high";
    readonly tools: ToolSet;
    /** What the user lets tools do; `tools.permits` decides each call. */
    readonly permissionMode: "ask" | "deny" | "auto" | "read-only";
    /**
     * `governs`: false where the slot has the engine that hands on what it is given, so that a runtime keeps its own
     * ways with the context.
     */
    readonly engine: {
        id: string;
        governs: boolean;
        ownsCompaction: boolean;
    };
    /**
     * Fragments that this turn injects, in order, so far: those of the input from the start on, those of a steering text
     * once `takeInputs` has answered, and after `assemble` those that a compaction had taken from the model's sight.
     * Assembled contexts hold them at their place; this is for a runtime that hands them to a thread by itself.
     */
    readonly fragments: readonly Fragment[];
    /** The turn's whole set, as the caller gave it, for a runtime that de-duplicates by itself; null where there is none. */
    readonly additionalContext: AdditionalContext | null;
    /**
     * The runtime's own compaction took the fragments from the model's sight: those of the current set, written down anew,
     * for the runtime to show again. Never throws.
     */
    fragmentsLost(): readonly Fragment[];
    /** Messages of the turn so far, as the transcript has them. */
    said(): readonly AgentMessage[];
    /** Transcript entry of the newest message of the turn; undefined while none is written. */
    newestEntryId(): string | undefined;
    /**
     * Runs the engine behind the failure policy. Call it at the runtime's seam, before each model call (or each
     * turn of a thread). With `overflow` the provider has just refused the context as too long: the host compacts
     * first. `fixedTokens`: what the harness was seen to add to the request by itself (system prompt, tools); it counts
     * against the window from now on, in the place of what was known before. Never throws but `turn_aborted`,
     * `context_overflow`, `live_turn_too_large`.
     */
    assemble(request?: {
        overflow?: {
            message: string;
        };
        fixedTokens?: number;
    }): Promise<AssembledContext>;
    /**
     * Offers a compaction that the harness is about to make to the engine (`interceptCompaction`), with what is kept and what
     * is not. The summary, or undefined: the harness is to make it in its own way. Announces it where the engine answers.
     * Never throws.
     */
    answerCompaction(question: CompactionQuestion): Promise<{
        summary: string;
    } | undefined>;
    /** Steering input that has arrived since the last call; already in the transcript. */
    takeInputs(): Promise<SteeringMessage[]>;
    /** Resolves when steering has arrived, or no input joins the turn any more. One caller at a time. */
    inputArrives(): Promise<void>;
    /** Reports progress. Awaiting a `message` event means that the entry is written. Never throws. */
    emit(event: TurnEvent): Promise<void>;
    /** The session's thread in this runtime, where it has one. */
    binding(): HarnessBinding | undefined;
    /** Keeps or (undefined) forgets it; every process sees it at once. A failure is a degradation; never throws. */
    bind(binding: HarnessBinding | undefined): void;
    /** Something did not go as the engine or the user wants it, and the turn goes on. */
    degrade(stage: Stage, reason: string): void;
    /**
     * Tells what a model request held, once it is sent, and its usage, once known. `seam`: how the context reaches the
     * model in this turn, where that is not the harness's usual one.
     */
    receipt(request: {
        parts?: ReceiptPart[];
        usage?: Usage;
        seam?: Seam;
    }): void;
    readonly signal: AbortSignal;
}
export interface HarnessTurnResult {
    stopReason: "stop" | "aborted" | "length" | "max_steps" | "yielded";
    usage: Usage;
}
export interface AgentHarness extends RuntimeTraits, HarnessThreads, HarnessOwn {
    readonly id: string;
    readonly label: string;
    /** `HARNESS_CONTRACT`. */
    readonly contract: string;
    /** Other names that configurations use for this runtime. */
    readonly aliases?: readonly string[];
    /** Where the loop runs, for `status`. */
    readonly execution: {
        kind: "in-process" | "child-process" | "external";
        detail?: string;
    };
    readonly seam: Seam;
    readonly capabilities: readonly HostCapability[];
    /** Runs one turn. Throws `PagurusError`; anything else is reported as `runtime_failed`. */
    runTurn(turn: HarnessTurn): Promise<HarnessTurnResult>;
    /** Asks for the runtime's own compaction of a bound thread. What it throws fails no compaction of the engine. */
    compact?(binding: HarnessBinding, request: NativeCompactionRequest): Promise<NativeCompaction>;
    /** The session does not go on with the thread any more (`/reset`, `/new`), or is deleted. */
    reset?(binding: HarnessBinding): Promise<void>;
    dispose?(): Promise<void>;
}
