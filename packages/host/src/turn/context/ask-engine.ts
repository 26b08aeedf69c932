/** Calls the engine's `assemble()` as often as its scope requires, and again with a smaller budget when the result does not fit. */
import type { AssembleParams, AssembleResult } from "@pagurus/contract/engine/engine-params";
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import { citationsMode } from "../agent/turn-memory.ts";
import { checkAssembleResult } from "../engine/answer-checks.ts";
import { governs } from "./native-context.ts";
import type { ContextScope } from "./context-scope.ts";
import { defined } from "@pagurus/core/data/defined";

export interface Answer {
  messages: AgentMessage[];
  /** The input, when the engine received it as `prompt`. */
  prompt: string | undefined;
  /** Absent when the engine's call failed: `messages` is then the plain history. */
  result: AssembleResult | undefined;
  /** `tokenBudget` passed to the engine. */
  budget: number;
  degraded: string | undefined;
}

/** Host's token counts of an answer: what the engine returned, and the context that the host builds from it. */
interface Counted {
  answer: number;
  context: number;
}

export class EngineAsker {
  readonly #scope: ContextScope;
  /** Cached answer of a `turn`-scoped engine; dropped after a compaction, or when the budget falls below the one it was made for. */
  #kept: Answer | undefined;
  #keptWithin = 0;
  #calls = 0;
  /** Share of the budget that the engine receives: below 1 once it counted fewer tokens than the host. */
  #share = 1;
  #ignoresBudget = false;
  #isFresh = false;

  constructor(scope: ContextScope) {
    this.#scope = scope;
  }

  /** The newest answer was not a cached one. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** A smaller budget made the answer no smaller: the engine receives the whole one again, and no more retries. */
  ignoresBudget(): void {
    this.#ignoresBudget = true;
    this.#share = 1;
  }

  /** Makes the next call a first one, with `prompt`. */
  forget(): void {
    this.#kept = undefined;
    this.#calls = 0;
  }

  /** Throws `turn_aborted`. */
  async ask(history: AgentMessage[], live: AgentMessage[]): Promise<Answer> {
    const { engine, guard, signal, prompt, tokenBudget } = this.#scope;
    const everyCall = engine.info.assembleScope === "call";
    this.#isFresh = false;
    if (this.#kept && !everyCall) {
      if (this.#keptWithin <= tokenBudget) return this.#kept;
      this.#calls = 0;
    }
    const recorded = live.filter((message) => message.entryId !== undefined).length;
    const first = this.#calls === 0 && recorded <= 1;
    this.#calls += 1;
    this.#isFresh = true;
    const messages = engine.info.history === "live" ? this.#scope.pending() : history;
    const current = first ? live.filter((message) => message.entryId === undefined) : live;
    const params = this.#params([...messages, ...current], first ? prompt : undefined);
    const outcome = await guard.call("assemble", () => engine.assemble(params), {
      signal,
      check: checkAssembleResult,
    });
    if (!outcome.ok && signal.aborted) throw new PagurusError("turn_aborted", "The turn was aborted.");
    const budget = params.tokenBudget ?? tokenBudget;
    const answer: Answer = outcome.ok
      ? {
          messages: outcome.value.messages,
          prompt: params.prompt,
          result: outcome.value,
          budget,
          degraded: undefined,
        }
      : { messages: history, prompt: undefined, result: undefined, budget, degraded: outcome.reason };
    this.#kept = answer;
    this.#keptWithin = tokenBudget;
    return answer;
  }

  /**
   * Lowers the budget of the next call, in the engine's own units. False when that is of no use: the engine is bundled or passes its input
   * through, reports itself that its context does not fit, or what the host adds leaves nothing.
   */
  shrink({ result, budget }: Answer, counted: Counted): boolean {
    const { engine, host, tokenBudget } = this.#scope;
    if (this.#ignoresBudget || host.slot.bundled || !governs(engine) || !result || counted.answer <= 0)
      return false;
    const { estimatedTokens: own } = result;
    if (typeof own === "number" && own > budget) return false;
    const space = tokenBudget - (counted.context - counted.answer);
    const smaller = Math.floor(((own || budget) * space) / counted.answer);
    if (smaller <= 0 || smaller >= budget) return false;
    this.#share = smaller / tokenBudget;
    this.forget();
    return true;
  }

  #params(messages: AgentMessage[], prompt: string | undefined): AssembleParams {
    const { tools, model, host, context } = this.#scope;
    const tokenBudget = Math.floor(this.#scope.tokenBudget * this.#share);
    return {
      ...context.base(this.#share < 1 ? { tokenBudget } : {}),
      // A copy: changes that the engine makes must not reach the transcript's own messages.
      messages: host.slot.bundled ? [...messages] : structuredClone(messages),
      tokenBudget,
      availableTools: new Set(tools.specs.map((tool) => tool.name)),
      citationsMode: citationsMode(host),
      model: model.id,
      ...defined({ prompt }),
    };
  }
}
