/** The models of a turn: the configured one, and the fallbacks that take over when its call fails. Loaded where there are any. */
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { FallbackReason, ModelFallback, SkippedModel } from "@pagurus/contract/fallback";
import type { ModelInfo } from "@pagurus/contract/model";
import { askedPauseOf, concernsProvider, failureReason } from "@pagurus/core/model/failure-reason";
import { ModelCooldowns } from "../../stores/files/model-cooldowns.ts";
import { selectRuntime } from "../selection/select-runtime.ts";
import type { Assembler, Assembly } from "../context/assemble-context.ts";
import { FALLBACK_ENTRY } from "../record/fallback-entry.ts";
import type { TurnState } from "../state/turn-state.ts";
import { defined } from "@pagurus/core/data/defined";

/** What the skipping of a model means, in a sentence about it; any other reason is an error code. */
const SKIPPED: Readonly<Record<string, string>> = {
  cooldown: "is cooling down after a failure",
  context_window: "has too small a window for this context",
  runtime: "runs in another runtime",
};

export interface ModelChainOptions {
  assembler: Pick<Assembler, "assembleFitting" | "modelChanged">;
  /** Throws what refuses the request of an assembled context, such as `cost_limit`. */
  check(assembly: Assembly): void;
}

export class ModelChain {
  readonly #turn: TurnState;
  readonly #options: ModelChainOptions;
  /** Refs or aliases, the primary first; empty where the caller named the model: no other one takes over then. */
  readonly #names: readonly string[];
  readonly #cooldowns: ModelCooldowns;
  /** Models that this round has passed over, and why. */
  readonly #tried = new Map<string, string>();
  /** The first failure of the round. */
  #failure: PagurusError | undefined;
  #current: ModelFallback | undefined;

  constructor(turn: TurnState, options: ModelChainOptions) {
    this.#turn = turn;
    this.#options = options;
    const { model, fallbacks } = turn.host.settings;
    this.#cooldowns = new ModelCooldowns(turn.host);
    this.#names =
      turn.admitted.request.model === undefined && model !== undefined ? [model, ...fallbacks] : [];
  }

  /** The fallback by which the turn's current model took over. */
  get current(): ModelFallback | undefined {
    return this.#current;
  }

  /** Whether a fallback that is not cooling is left for this round. */
  get hasNext(): boolean {
    return this.#names.some((name) => {
      const model = this.#infoOf(name);
      return model !== undefined && model.ref !== this.#turn.model.ref && !this.#isPassed(model);
    });
  }

  /** Before the first call of a turn: the context for a fallback where the model is cooling; undefined: the model is to be called. */
  async start(): Promise<Assembly | undefined> {
    const { model, emit } = this.#turn;
    const cooling = this.#names.length > 0 ? this.#cooldowns.of(model) : undefined;
    if (!cooling) return undefined;
    const taken = await this.#next("cooldown");
    if (taken) return taken;
    this.#tried.clear();
    const detail = `${model.ref} is cooling down until ${cooling.until} (${cooling.reason}) and is called all the same, since no fallback can take over`;
    emit({ type: "notice", kind: "model_cooling", detail });
    return undefined;
  }

  /** After a failed call: the context for the next model. Throws the failure, with what was tried, where there is none. */
  async next(failure: PagurusError, { shown }: { shown: boolean }): Promise<Assembly> {
    const { model, signal } = this.#turn;
    const reason = failureReason(failure);
    if (reason === undefined || signal.aborted) throw failure;
    const target = concernsProvider(reason) ? model.provider : model.ref;
    this.#cooldowns.failed(target, reason, askedPauseOf(failure));
    if (shown) throw failure;
    this.#failure ??= failure;
    const taken = await this.#next(reason);
    if (taken) return taken;
    throw this.#exhausted(this.#failure);
  }

  /** The current model has answered. */
  answered(): void {
    this.#tried.clear();
    this.#failure = undefined;
    this.#cooldowns.succeeded(this.#turn.model);
  }

  async #next(reason: FallbackReason): Promise<Assembly | undefined> {
    const from = this.#turn.model;
    this.#tried.set(from.ref, reason);
    const skipped: SkippedModel[] = [];
    for (const name of this.#names) {
      const ref = this.#infoOf(name)?.ref ?? name;
      if (this.#tried.has(ref)) continue;
      const taken = await this.#tryModel(name, from);
      if (typeof taken !== "string") {
        this.#announce(from, reason, skipped);
        return taken;
      }
      skipped.push({ model: ref, reason: taken });
    }
    for (const { model, reason: why } of skipped) this.#tried.set(model, why);
    return undefined;
  }

  /** The context for a model, which is the turn's from then on; or why it cannot take over. */
  async #tryModel(name: string, from: ModelInfo): Promise<Assembly | string> {
    const { host, harness, admitted } = this.#turn;
    try {
      const model = host.modelInfo(name);
      if (this.#cooldowns.of(model)) return "cooldown";
      const choice = selectRuntime({ ...host, model, requested: admitted.request.runtime });
      if (choice.harness.id !== harness.id) return "runtime";
      this.#use(model);
      const assembly = await this.#options.assembler.assembleFitting();
      if (assembly) {
        this.#options.check(assembly);
        return assembly;
      }
      this.#use(from);
      return "context_window";
    } catch (error) {
      if (!isPagurusError(error) || error.code === "turn_aborted") throw error;
      this.#use(from);
      return error.code === "live_turn_too_large" ? "context_window" : error.code;
    }
  }

  #use(model: ModelInfo): void {
    if (model.ref === this.#turn.model.ref) return;
    this.#turn.useModel(model);
    this.#options.assembler.modelChanged();
  }

  #announce(from: ModelInfo, reason: FallbackReason, skipped: SkippedModel[]): void {
    const until = this.#cooldowns.of(from)?.until;
    this.#current = {
      from: from.ref,
      to: this.#turn.model.ref,
      reason,
      ...defined({ until }),
      ...(skipped.length === 0 ? {} : { skipped }),
    };
    this.#turn.fallbacks.push(this.#current);
    this.#turn.recorder.note(FALLBACK_ENTRY, { ...this.#current });
    this.#turn.emit({ type: "model.fallback", ...this.#current });
  }

  #infoOf(name: string): ModelInfo | undefined {
    try {
      return this.#turn.host.modelInfo(name);
    } catch {
      // A ref that names no model is skipped with its error code when its turn comes.
      return undefined;
    }
  }

  #isPassed(model: ModelInfo): boolean {
    return this.#tried.has(model.ref) || this.#cooldowns.of(model) !== undefined;
  }

  #exhausted(failure: PagurusError): PagurusError {
    const { provider, model: failed } = failure.details;
    const others = [...this.#tried].filter(([ref]) => ref !== `${String(provider)}/${String(failed)}`);
    if (others.length === 0) return failure;
    const list = others.map(([ref, reason]) => `${ref} ${SKIPPED[reason] ?? `failed [${reason}]`}`);
    const message = `${failure.message.replace(/\.$/, "")}; no fallback could take over: ${list.join(", ")}.`;
    const tried = others.map(([model, reason]) => ({ model, reason }));
    return new PagurusError(failure.code, message, { details: { ...failure.details, fallbacks: tried } });
  }
}
