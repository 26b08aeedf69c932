/** The person's choices for the next turns of a chat: model, permission mode, thinking, and whether they only plan. */
import {
  THINKING_LEVELS,
  type ChatPermission,
  type Choice,
  type CommandEffect,
  type Thinking,
} from "@pagurus/host/command/command-types";
import { PERMISSION_MODES, type PermissionMode } from "@pagurus/contract/host/permission-modes";
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { TurnOptions } from "../run/turn-request.ts";

/** Shown in place of the permission mode. */
const PLAN_MODE = "plan mode";

const PLAN_WORDS =
  "Plan mode: the user wants a plan before anything changes. Your tools can only read: look at what matters, ask where the request is not clear, then answer with a short plan (the files to change and how, commands to run, how to check it). Do not try to change files or run commands. The user accepts the plan, or says what to change in it.";

/** Replaces them once the mode has ended: the conversation still has them. */
const OVER_WORDS = "Plan mode is over: your tools may do what the user's permission mode allows.";

/** The input that carries an accepted plan out. */
export const ACCEPTED = "The plan is accepted. Carry it out.";

/** The next mode, from careful to permissive; `deny` is for programs, which cannot be asked. */
function nextMode(mode: string): PermissionMode | undefined {
  const modes = PERMISSION_MODES.filter((each) => each !== "deny");
  return modes[modes.findIndex((each) => each === mode) + 1];
}

/** The level `by` steps further; without a level, the lowest that thinks or the highest. */
function nextThinking(level: Thinking | undefined, by: 1 | -1): Thinking {
  const last = THINKING_LEVELS.length - 1;
  const at = level === undefined ? (by === 1 ? 0 : last + 1) : THINKING_LEVELS.indexOf(level);
  return THINKING_LEVELS[Math.max(0, Math.min(last, at + by))] ?? "medium";
}

export class TurnChoices {
  options: TurnOptions;
  /** The next turns may only read, until the person accepts a plan. */
  isPlanning = false;
  /** A turn of this chat has planned. */
  #hasPlanned = false;
  /** The configured permission mode. */
  configured = "";

  constructor(options: TurnOptions) {
    this.options = { ...options };
  }

  /** The mode beside the input. */
  get shownMode(): string {
    return this.isPlanning ? PLAN_MODE : (this.options.permission ?? this.configured);
  }

  /** Goes through the modes and, after the last one, to planning. */
  nextMode(): void {
    const next = this.isPlanning ? nextMode("") : nextMode(this.shownMode);
    this.isPlanning = next === undefined;
    if (next !== undefined) this.options = { ...this.options, permission: next };
  }

  nextThinking(by: 1 | -1): void {
    this.options = { ...this.options, thinking: nextThinking(this.options.thinking, by) };
  }

  /** Takes what a command chose. */
  apply(effect: CommandEffect): void {
    if (effect.type === "plan") this.isPlanning = effect.isOn;
    if (effect.type === "permission") {
      this.options = { ...this.options, permission: effect.mode };
      this.isPlanning = false;
    }
    if (effect.type === "thinking") this.options = { ...this.options, thinking: effect.thinking };
    if (effect.type === "model") this.options = { ...this.options, model: effect.model };
  }

  /** Answers to "Carry out this plan?". */
  get planAnswers(): readonly Choice[] {
    const mode = this.options.permission ?? this.configured;
    return [
      { value: "change", label: "No, I say what to change" },
      { value: "accept", label: `Yes, with permission mode ${mode}` },
      { value: "leave", label: "No, leave plan mode" },
    ];
  }

  /** Takes one of these answers; true when the plan is carried out. */
  takePlan(answer: string): boolean {
    this.isPlanning = answer === "change";
    return answer === "accept";
  }

  /** Fields of a turn's request that planning changes. `context`: the other additional context. */
  planning(context: { additionalContext?: AdditionalContext }): {
    permission?: ChatPermission;
    additionalContext?: AdditionalContext;
  } {
    if (!this.isPlanning && !this.#hasPlanned) return context;
    this.#hasPlanned = true;
    const value = this.isPlanning ? PLAN_WORDS : OVER_WORDS;
    const plan = { value, kind: "application" as const };
    return {
      ...(this.isPlanning ? { permission: "read-only" } : {}),
      additionalContext: { ...context.additionalContext, "pagurus-plan-mode": plan },
    };
  }
}
