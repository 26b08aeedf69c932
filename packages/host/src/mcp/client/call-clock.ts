/** Timeouts of one call: without a sign of life, and in total. Both are paused while the person is asked. */

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
  #since = performance.now();
  #silent: NodeJS.Timeout | undefined;
  #total: NodeJS.Timeout | undefined;
  #questions = 0;
  #isOver = false;

  constructor(limits: CallLimits, onLate: (late: Late) => void) {
    this.#limits = limits;
    this.#onLate = onLate;
    this.#left = limits.longestCallMs;
    this.#start();
  }

  /** A sign of life of the server. */
  touch(): void {
    if (this.#silent !== undefined) this.#silent.refresh();
  }

  pause(): void {
    this.#questions += 1;
    if (this.#questions > 1) return;
    this.#stop();
    this.#left -= performance.now() - this.#since;
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
    this.#since = performance.now();
    this.#silent = setTimeout(() => this.#onLate("silent"), this.#limits.timeoutMs);
    this.#total = setTimeout(() => this.#onLate("long"), Math.max(1, this.#left));
  }

  #stop(): void {
    clearTimeout(this.#silent);
    clearTimeout(this.#total);
    this.#silent = undefined;
  }
}
