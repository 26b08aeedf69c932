/** The harness contract. A harness never sees the engine, the config or the store; all that it needs is in the turn. */
import type { HostCapability } from "../engine/engine.ts";
import type { Usage } from "../message.ts";
import type { Seam } from "../session/receipt.ts";
import type { HarnessOwn } from "./harness-own.ts";
import type { HarnessTurn, SteeringMessage } from "./harness-turn.ts";
import type { HarnessBinding, HarnessThreads, NativeCompaction } from "./native.ts";
import type { NativeCompactionRequest } from "./native-compaction.ts";
import type { RuntimeTraits } from "./runtimes.ts";
export type * from "./harness-turn.ts";
export type { HarnessBinding, NativeCompaction } from "./native.ts";
export type { CompactionQuestion, NativeCompactionRequest } from "./native-compaction.ts";
export interface HarnessTurnResult {
    stopReason: "stop" | "aborted" | "length" | "max_steps" | "yielded";
    usage: Usage;
}
/** One turn in a harness. The host calls one member at a time. */
export interface HarnessRun {
    /** Runs the turn to the end of the agent's work. Called once. Throws `PagurusError`; anything else is reported as `runtime_failed`. */
    run(): Promise<HarnessTurnResult>;
    /**
     * Continues the turn with input that arrived too late for `takeInputs`; never empty, and already in the transcript. Called after
     * a result with the stop reason `stop` or `length`, each time that there is such input. Throws as `run`.
     */
    continueWith(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult>;
    /** Releases what the run holds. Called once, at the end of the turn, after a failure too. An error is a degradation. */
    end?(): void;
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
    /** Starts one turn; the work begins with `run`. Throws as that. */
    start(turn: HarnessTurn): HarnessRun;
    /** Asks for the runtime's own compaction of a bound thread. An error fails no compaction of the engine. */
    compact?(binding: HarnessBinding, request: NativeCompactionRequest): Promise<NativeCompaction>;
    /**
     * Called when the session drops the thread (`/reset`, `/new`, a `/compact` that rotates) or is deleted. A failure stops none
     * of them. Deadline 5 s, without one after a rotation.
     */
    reset?(binding: HarnessBinding): Promise<void>;
    /** Called at shutdown and reload, after the engines have ended. A failure is logged. Deadline 10 s. */
    dispose?(): Promise<void>;
}
