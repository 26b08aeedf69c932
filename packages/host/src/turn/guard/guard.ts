/**
 * The failure policy, in one place. A failure of an engine or hook costs its own contribution, never the turn: each failure is an event, a
 * log line and an entry that `status` reads. Source: the design's "Failure policy".
 */
import type { Degradation, Stage } from "@pagurus/contract/host/events";
import { isPagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import { failureReason } from "@pagurus/core/model/failure-reason";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { runInEngineFrame, type EngineFrame } from "../../plugin/engine-frame.ts";
import type { Logger } from "@pagurus/core/platform/log";
import { generatorProblem, pluginFailure } from "./plugin-failure.ts";

/** Deadline of an engine at each stage, ms. */
const STAGE_DEADLINES_MS: Record<Stage, number> = {
  bootstrap: 60_000,
  "bootstrap-maintain": 60_000,
  assemble: 15_000,
  projection: 5_000,
  answer: 5_000,
  compact: 180_000,
  intercept: 180_000,
  memory: 5_000,
  subagent: 15_000,
  tools: 15_000,
  transcript: 30_000,
  settle: 30_000,
  maintain: 60_000,
  hook: 15_000,
  plugin: 15_000,
  dispose: 10_000,
  trim: 5_000,
};

export type EngineDeadlines = Partial<Record<string, number>>;

/** Stages that share the configured deadline of another. */
const SHARED: Partial<Record<Stage | "factory", string>> = {
  "bootstrap-maintain": "bootstrap",
  intercept: "compact",
};

/** A stage's configured deadline in ms. */
export function configuredDeadline(
  deadlines: EngineDeadlines | undefined,
  stage: Stage | "factory",
): number | undefined {
  const seconds = deadlines?.[SHARED[stage] ?? stage];
  return seconds === undefined ? undefined : seconds * 1000;
}

export interface GuardOptions {
  engineId: string;
  turnId: string;
  logger: Logger;
  report(degradation: Degradation): void;
  /** Configured deadlines in seconds; override the table's. */
  deadlines?: EngineDeadlines | undefined;
}

export type Guarded<T> = { ok: true; value: T } | { ok: false; reason: string; code: string };

export class Guard {
  readonly degraded: Degradation[] = [];
  /** What helpers of the plugin kit can read of the host during a call; set once the turn knows it. */
  frame: (() => EngineFrame) | undefined;
  readonly #options: GuardOptions;
  readonly #causes = new WeakMap<Degradation, string>();

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /**
   * Runs one call of an engine. A throw, the deadline, or an answer that `check` finds wrong (it returns what is
   * wrong) becomes a degradation. An abort of the turn is passed on as a failure without a degradation.
   */
  async call<T>(
    stage: Stage,
    work: (signal: AbortSignal) => Promise<T> | T,
    options: {
      signal?: AbortSignal | undefined;
      check?: (value: T) => string | undefined;
      deadlineMs?: number | undefined;
      /** Subject of the reason's sentence. Default: the engine. */
      who?: string | undefined;
    } = {},
  ): Promise<Guarded<T>> {
    const ms =
      options.deadlineMs ?? configuredDeadline(this.#options.deadlines, stage) ?? STAGE_DEADLINES_MS[stage];
    const label = options.who ?? `The engine ${this.#options.engineId} at ${stage}`;
    try {
      const { frame } = this;
      const framed = frame
        ? (signal: AbortSignal): Promise<T> | T => runInEngineFrame(frame(), () => work(signal))
        : work;
      const value = await withDeadline(framed, { ms, label, signal: options.signal });
      const wrong = generatorProblem(value) ?? options.check?.(value);
      if (wrong === undefined) return { ok: true, value };
      return this.#failed(stage, `${label} returned an invalid result: ${wrong}`, "engine_contract");
    } catch (error) {
      const failure = pluginFailure(error);
      if (failure.code === "turn_aborted" && options.signal?.aborted) {
        return { ok: false, reason: failure.message, code: failure.code };
      }
      // A timeout's own sentence already names the call.
      const named = failure.message.startsWith(label)
        ? failure.message
        : `${label} failed: ${failure.message}`;
      return this.#failed(
        stage,
        named,
        failure.code,
        attempt(() => (isPagurusError(error) ? failureReason(error) : undefined)),
      );
    }
  }

  /** Reason of the model's failure that caused a degradation, else the error's code; undefined if there was none. */
  causeOf(degradation: Degradation): string | undefined {
    return this.#causes.get(degradation);
  }

  /** Records a degradation outside a guarded call. `cause`: as `causeOf` returns it. */
  degrade(stage: Stage, reason: string, cause?: string): void {
    const { engineId, turnId, logger, report } = this.#options;
    const degradation: Degradation = { stage, reason, engineId, turnId };
    this.degraded.push(degradation);
    if (cause !== undefined) this.#causes.set(degradation, cause);
    logger.warn("context degraded", { stage, engineId, turnId });
    report(degradation);
  }

  #failed(
    stage: Stage,
    reason: string,
    code: string,
    ofModel?: string,
  ): { ok: false; reason: string; code: string } {
    this.degrade(stage, reason, ofModel ?? code);
    return { ok: false, reason, code };
  }
}
