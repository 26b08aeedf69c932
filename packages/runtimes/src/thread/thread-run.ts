/**
 * Runs a turn of the host on a native thread, for every runtime that authors threads: begins it from the assembled context,
 * tries once more where the first try had no effect, and continues it with later input as long as the thread lasts.
 */
import type { PagurusError } from "@pagurus/contract/errors";
import type {
  HarnessRun,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "@pagurus/contract/harness/harness";

/** A turn of the host on its thread. */
export interface ThreadTurn {
  /** Whether the thread still exists and its content is known. */
  readonly canContinue: boolean;
  /** Runs the first native turn: what the thread lacks, and the input. */
  first(): Promise<HarnessTurnResult>;
  /** Runs a native turn with input that arrived after the last one ended, or could not join it. */
  further(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult>;
}

export interface FailedTry<From, T> {
  from: From;
  /** Undefined when no thread could be opened. */
  begun: T | undefined;
  /** What was thrown, and the same as the turn reports it. */
  error: unknown;
  failure: PagurusError;
}

/** What a runtime adds. `From` is what a turn begins from: the assembled context, or a route through the model gateway. */
export interface ThreadAdapter<From, T extends ThreadTurn> {
  prepare(): Promise<From>;
  /** Resumes the bound thread, or starts one. `inputs`: the turn continues, after `before`. */
  open(from: From, inputs: readonly SteeringMessage[] | undefined, before: T | undefined): Promise<T>;
  failureOf(error: unknown): PagurusError;
  /** What the second try begins from; undefined when it cannot help, or would repeat work that was done. */
  again(tried: FailedTry<From, T>): Promise<From | undefined>;
  /** Called after each failed try. */
  dropped?(begun: T | undefined): void;
}

export class ThreadRun<From, T extends ThreadTurn> implements HarnessRun {
  readonly #turn: HarnessTurn;
  readonly #adapter: ThreadAdapter<From, T>;
  #begun: T | undefined;

  constructor(turn: HarnessTurn, adapter: ThreadAdapter<From, T>) {
    this.#turn = turn;
    this.#adapter = adapter;
  }

  async run(inputs?: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    const adapter = this.#adapter;
    const before = this.#begun;
    let from = await adapter.prepare();
    for (let isRetry = false; ; isRetry = true) {
      let begun: T | undefined;
      try {
        begun = await adapter.open(from, inputs, before);
        this.#begun = begun;
        return await begun.first();
      } catch (error) {
        const failure = adapter.failureOf(error);
        adapter.dropped?.(begun);
        if (isRetry || this.#turn.signal.aborted) throw failure;
        const next = await adapter.again({ from, begun, error, failure });
        if (next === undefined) throw failure;
        from = next;
      }
    }
  }

  async continueWith(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    if (!this.#begun?.canContinue) return this.run(inputs);
    try {
      return await this.#begun.further(inputs);
    } catch (error) {
      throw this.#adapter.failureOf(error);
    }
  }
}
