/** Deadline of plugin code that calls the host in between. The time of the host's work does not count. */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import { PagurusError } from "@pagurus/contract/errors";
import { durationText } from "@pagurus/core/platform/duration";

export class OwnTime {
  readonly #stopped: Promise<never>;
  readonly #stop: (error: PagurusError) => void;
  readonly #ms: number;
  readonly #label: string;
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;
  #leftMs: number;
  #since = 0;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;

  constructor(ms: number, label: string, signal: AbortSignal, clock: Clock = SYSTEM_CLOCK) {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#stopped = promise;
    this.#stop = reject;
    this.#ms = ms;
    this.#leftMs = ms;
    this.#label = label;
    this.#signal = signal;
    this.#clock = clock;
    this.#onAbort = () =>
      reject(new PagurusError("turn_aborted", `${label} was aborted.`, { cause: signal.reason }));
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  /** Rejects with `deadline_exceeded` when the code has used up its time, `turn_aborted`; the code itself continues. */
  async within<T>(work: () => T | Promise<T>): Promise<T> {
    this.#start();
    return await Promise.race([Promise.resolve().then(work), this.#stopped]);
  }

  /** Runs work of the host, whose time does not count. */
  async without<T>(work: () => Promise<T>): Promise<T> {
    this.#pause();
    try {
      return await work();
    } finally {
      this.#start();
    }
  }

  end(): void {
    this.#pause();
    this.#leftMs = 0;
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  #start(): void {
    if (this.#leftMs <= 0) return;
    this.#since = this.#clock.ticks();
    const error = new PagurusError(
      "deadline_exceeded",
      `${this.#label} took longer than ${durationText(this.#ms)}.`,
    );
    this.#cancel = this.#clock.after(this.#leftMs, () => this.#stop(error));
  }

  #pause(): void {
    if (this.#cancel === undefined) return;
    this.#cancel();
    this.#cancel = undefined;
    this.#leftMs = Math.max(1, this.#leftMs - (this.#clock.ticks() - this.#since));
  }
}
