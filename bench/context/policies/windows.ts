/** Policies that only leave out: nothing replaces what is removed. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ContextPolicy, PolicyRun } from "../../../packages/replay/src/context-policy.ts";
import { History } from "./history.ts";
import type { ModelCall, RecordedSession } from "../../../packages/replay/src/recorded-session.ts";

/** Everything, always. */
export function appendOnly(): ContextPolicy {
  return {
    name: "append-only",
    limit: Infinity,
    open: (session) => ({
      assemble: (call) => ({ messages: session.messages.slice(0, call.end), epoch: "1" }),
      settle: () => undefined,
    }),
  };
}

class Trimmed implements PolicyRun {
  readonly #history: History;
  readonly #trigger: number;
  readonly #target: number;
  #cut = 0;
  /** Inputs of the live turn at the newest cut; they stay until the next one, so that the prompt only grows. */
  #inputs: readonly AgentMessage[] = [];
  #epoch = 1;

  constructor(session: RecordedSession, trigger: number, target: number) {
    this.#history = new History(session);
    this.#trigger = trigger;
    this.#target = target;
  }

  assemble(call: ModelCall): ReturnType<PolicyRun["assemble"]> {
    const history = this.#history;
    if (history.promptTokens(this.#inputs, this.#cut, call) > this.#trigger) {
      const tailBudget =
        this.#target - history.promptTokens(history.inputsBefore(call, call.end), call.end, call);
      const cut = history.cut(call, tailBudget, this.#cut);
      if (cut !== this.#cut) {
        this.#epoch++;
        this.#inputs = history.inputsBefore(call, cut);
      }
      this.#cut = cut;
    }
    const messages = [...this.#inputs, ...history.slice(this.#cut, call.end)];
    return { messages, epoch: String(this.#epoch) };
  }

  settle(): void {
    // The cut is chosen when a prompt is made.
  }
}

/** Trims the oldest messages at every call to what fits in 80 % of the window. */
export function slidingWindow(window: number): ContextPolicy {
  const most = 0.8 * window;
  return {
    name: "sliding window, every call",
    limit: window,
    open: (session) => new Trimmed(session, most, most),
  };
}

/** Trims to 50 % of the window whenever 80 % are reached. */
export function batchedTrim(window: number): ContextPolicy {
  return {
    name: "batched trim 80 to 50 %",
    limit: window,
    open: (session) => new Trimmed(session, 0.8 * window, 0.5 * window),
  };
}
