/** Timeouts of one call: without a sign of life, and in total. Both are paused while the person is asked. */

import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";

export interface CallLimits {
  /** Limit without an answer or progress, ms. */
  timeoutMs: number;
  /** Limit of the whole call, ms. */
  longestCallMs: number;
}

export type Late = "silent" | "long";

export class CallClock {
  readonly #limits: CallLimits;
  readonly #onLate: (late: Late) => void;
  #left: number;
  readonly #clock: Clock;
  #since = 0;
  #silent: (() => void) | undefined;
  #total: (() => void) | undefined;
  #questions = 0;
  #isOver = false;

  constructor(limits: CallLimits, onLate: (late: Late) => void, clock: Clock = SYSTEM_CLOCK) {
    this.#limits = limits;
    this.#onLate = onLate;
    this.#clock = clock;
    this.#left = limits.longestCallMs;
    this.#start();
  }

  /** A sign of life of the server. */
  touch(): void {
    if (this.#silent === undefined) return;
    this.#silent();
    this.#listen();
  }

  pause(): void {
    this.#questions += 1;
    if (this.#questions > 1) return;
    this.#stop();
    this.#left -= this.#clock.ticks() - this.#since;
  }

  resume(): void {
    this.#questions -= 1;
    if (this.#questions === 0) this.#start();
  }

  end(): void {
    this.#isOver = true;
    this.#stop();
  }

  #start(): void {
    if (this.#isOver) return;
    this.#since = this.#clock.ticks();
    this.#listen();
    this.#total = this.#clock.after(Math.max(1, this.#left), () => this.#onLate("long"));
  }

  #listen(): void {
    this.#silent = this.#clock.after(this.#limits.timeoutMs, () => this.#onLate("silent"));
  }

  #stop(): void {
    this.#silent?.();
    this.#total?.();
    this.#silent = undefined;
  }
}
