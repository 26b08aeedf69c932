/**
 * Agent runtimes as a user sees them: which one runs a model and why, what each can do, whether it can be used here.
 * Source: agent runtimes, "Runtime selection", "Compatibility contract".
 */
import type { HostCapability } from "./engine.ts";
import type { ModelInfo } from "./model.ts";
import type { NativeProgram } from "./native.ts";
import type { Seam } from "./receipt.ts";

/** `login`: the runtime signs in by itself, and needs no key of the host's. */
export type SupportResult = { supported: true; login?: "own" } | { supported: false; reason: string };

/** Whether a runtime takes a model for which no configuration names a runtime. */
export type ClaimResult =
  | { claims: true }
  /** `reason`: what keeps it from a model that is its own, one sentence; absent where the model is none of its own. */
  | { claims: false; reason?: string };

/** What a runtime does with the surfaces that plugins and users know from the embedded one; each a few words. */
export interface RuntimeSurfaces {
  /** Who decides on retries, tool continuation and the final answer. */
  modelLoop: string;
  /** Who owns the history, and whether the host can edit it. */
  threadHistory: string;
  /** Whether tools of the host and of plugins work. */
  hostTools: string;
  /** Whether `before_tool_call` and `after_tool_call` run for them. */
  hostToolHooks: string;
  /** The same for the runtime's own tools. */
  nativeToolHooks: string;
  /** What can be known of its own compactions. */
  compactionData: string;
  /** What it does not do, on purpose. */
  unsupported: readonly string[];
}

/** The part of a harness that selection, `pagurus runtimes` and the doctor ask. */
export interface RuntimeTraits {
  /**
   * `cli`: a backend that drives a command-line program. It is chosen by its id alone, is no embedded harness id, and
   * never claims. Default `embedded`.
   */
  readonly family?: "embedded" | "cli";
  /** `docs/runtimes.md` shows it for the bundled runtimes. */
  readonly surfaces?: RuntimeSurfaces;
  /** Whether the runtime could run the model here and now. Asked before each turn: starts no process, waits for nothing. */
  supports(model: ModelInfo): SupportResult;
  /** Asked like `supports`, where no configuration names a runtime. Absent or throwing: it takes none. */
  claims?(model: ModelInfo): ClaimResult;
}

/** Rules of the selection in their order; `compatibility` is the embedded runtime, where nothing else chose. */
export type RuntimeRule =
  | "run"
  | "ref"
  | "agent-model"
  | "agent-wildcard"
  | "default-model"
  | "provider-model"
  | "default-wildcard"
  | "provider"
  | "claim"
  | "compatibility";

/** Which rule chose a runtime. */
export interface RuntimeReason {
  rule: RuntimeRule;
  /** Where the rule found it: a configuration key, the run, a ref. */
  source: string;
  /** Agent that the policy names, for a runtime that drives several. */
  agentId?: string;
  /** Why no other runtime runs the model, where another one is meant to; a sentence or more. */
  why?: string;
}

/** One rule, looked at for one model. */
export interface SelectionStep {
  rule: RuntimeRule;
  source: string;
  /** `auto`: it leaves the choice to claims. `unasked`: an earlier one has chosen. */
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
  /** Whether it could run the model that was asked about. */
  runs: { model: string; supported: boolean; reason?: string };
  /** Where it was asked for: the program behind the runtime, or why there is none to use. */
  program?: NativeProgram | { problem: string };
}

export interface RuntimeExplanation {
  /** As a run would name it; `writtenAs` where it was given as a legacy ref. */
  model: string;
  writtenAs?: string;
  agentId: string;
  /** Absent where none can be chosen, as `problem` says. */
  runtime?: Omit<RuntimeFact, "runs" | "program"> & RuntimeReason;
  /** Why a run would be refused: by the choice, or since the runtime lacks what the engine in the slot requires. */
  problem?: { code: string; message: string };
  /** In the order in which they are looked at. */
  steps: SelectionStep[];
  /** Settings of other programs and times that are not looked at any more; a sentence each. */
  ignored: string[];
}

export interface Runtimes {
  /** What is registered. With `programs`, programs are asked for version and login, which can take seconds. */
  list(request?: { model?: string; agentId?: string; programs?: boolean }): Promise<RuntimeFact[]>;
  /** Which runtime a run would have, and why. Throws `model_unknown`, `config_invalid`. */
  explain(request?: { model?: string; agentId?: string; runtime?: string }): Promise<RuntimeExplanation>;
}
