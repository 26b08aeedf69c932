/**
 * Agent runtimes as a user sees them: which one runs a model and why, what each can do, whether it is usable here.
 * Source: agent runtimes, "Runtime selection", "Compatibility contract".
 */
import type { HostCapability } from "../engine/engine.ts";
import type { ModelInfo } from "../model.ts";
import type { NativeProgram } from "./native.ts";
import type { Seam } from "../session/receipt.ts";
/** `login`: the runtime signs in by itself and needs no key from the host. */
export type SupportResult = {
    supported: true;
    login?: "own";
} | {
    supported: false;
    reason: string;
};
/** Whether a runtime takes a model for which no configuration names a runtime. */
export type ClaimResult = {
    claims: true;
}
/** `reason`: why it cannot take a model of its own, one sentence; absent where the model is not its own. */
 | {
    claims: false;
    reason?: string;
};
/** How a runtime treats the features that plugins and users know from the embedded one; each a few words. */
export interface RuntimeSurfaces {
    /** Owner of retries, tool continuation and the final answer. */
    modelLoop: string;
    /** Owner of the history, and whether the host can edit it. */
    threadHistory: string;
    /** Whether tools of the host and of plugins work. */
    hostTools: string;
    /** Whether `before_tool_call` and `after_tool_call` run for them. */
    hostToolHooks: string;
    /** Whether they run for the runtime's own tools. */
    nativeToolHooks: string;
    /** The known facts about its own compactions. */
    compactionData: string;
    /** Features left out on purpose. */
    unsupported: readonly string[];
}
/** The part of a harness that selection, `pagurus runtimes` and the doctor use. */
export interface RuntimeTraits {
    /**
     * `cli`: a backend that drives a command-line program. It is chosen by its id alone, is no embedded harness id, and
     * never claims. Default `embedded`.
     */
    readonly family?: "embedded" | "cli";
    /** Shown in `docs/runtimes.md` for the bundled runtimes. */
    readonly surfaces?: RuntimeSurfaces;
    /**
     * Whether the runtime could run the model here and now. Called before each turn: starts no process, waits for nothing. A
     * throw counts as unsupported, with the error as the reason.
     */
    supports(model: ModelInfo): SupportResult;
    /** Called like `supports`, where no configuration names a runtime. Absent or throwing: it takes none. */
    claims?(model: ModelInfo): ClaimResult;
}
/** Rules of the selection in order; `compatibility` is the embedded runtime, the fallback when no other rule chose. */
export type RuntimeRule = "run" | "ref" | "agent-model" | "agent-wildcard" | "default-model" | "provider-model" | "default-wildcard" | "provider" | "claim" | "compatibility";
/** Which rule chose a runtime. */
export interface RuntimeReason {
    rule: RuntimeRule;
    /** Where the rule found it: a configuration key, the run, a ref. */
    source: string;
    /** Agent named by the policy, for a runtime that drives several. */
    agentId?: string;
    /** Why no other runtime runs the model, where another one is intended; a sentence or more. */
    why?: string;
}
/** Result of one rule for one model. */
export interface SelectionStep {
    rule: RuntimeRule;
    source: string;
    /** `auto`: leaves the choice to claims. `unasked`: skipped, since an earlier rule has chosen. */
    outcome: "chosen" | "auto" | "absent" | "declined" | "unasked";
    /** The runtime's id, or why it declined. */
    detail?: string;
}
export interface RuntimeFact {
    id: string;
    label: string;
    aliases: string[];
    family: "embedded" | "cli";
    /** Where the loop runs. */
    execution: string;
    seam: Seam;
    capabilities: HostCapability[];
    surfaces?: RuntimeSurfaces;
    /** Whether it could run the requested model. */
    runs: {
        model: string;
        supported: boolean;
        reason?: string;
    };
    /** Set on request: the program of the runtime, or why none is usable. */
    program?: NativeProgram | {
        problem: string;
    };
}
export interface RuntimeExplanation {
    /** As a run would name it; `writtenAs` for a legacy ref. */
    model: string;
    writtenAs?: string;
    agentId: string;
    /** Absent if none can be chosen, as `problem` says. */
    runtime?: Omit<RuntimeFact, "runs" | "program"> & RuntimeReason;
    /** Why a run would be refused: by the selection, or because the runtime lacks what the engine in the slot requires. */
    problem?: {
        code: string;
        message: string;
    };
    /** In order of evaluation. */
    steps: SelectionStep[];
    /** Settings of other programs and times that are no longer read; a sentence each. */
    ignored: string[];
}
export interface Runtimes {
    /**
     * The registered runtimes. With `programs`, queries programs for version and login; one that fails or misses its deadline of
     * 10 s is a `problem`. Throws `model_unknown`, `config_invalid` for the requested model.
     */
    list(request?: {
        model?: string;
        agentId?: string;
        programs?: boolean;
    }): Promise<RuntimeFact[]>;
    /** The runtime that a run would get, and why. Throws `model_unknown`, `config_invalid`. */
    explain(request?: {
        model?: string;
        agentId?: string;
        runtime?: string;
    }): Promise<RuntimeExplanation>;
}
