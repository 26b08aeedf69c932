/**
 * Time as the host reads it and waits for it. What pauses, repeats or gives up takes a clock, so that a test moves the time and does not
 * wait: `clock.after(30_000, retry)`.
 */
export interface Clock {
  /** Milliseconds since the epoch. Jumps when the machine's clock is set. */
  now(): number;
  /** Monotonic milliseconds, for the length of a piece of work. */
  ticks(): number;
  /** Calls back once; returns what cancels it. */
  after(ms: number, work: () => void, options?: TimerOptions): () => void;
  /** Calls back each `ms`; returns what cancels it. */
  every(ms: number, work: () => void, options?: TimerOptions): () => void;
}

export interface TimerOptions {
  /** Whether the process stays alive for it. Default true, as for the timers of Node. */
  ref?: boolean;
}

/** The machine's clock: the one of all programs. */
export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  ticks: () => performance.now(),
  after: (ms, work, options) => {
    const timer = setTimeout(work, ms);
    if (options?.ref === false) timer.unref();
    return () => clearTimeout(timer);
  },
  every: (ms, work, options) => {
    const timer = setInterval(work, ms);
    if (options?.ref === false) timer.unref();
    return () => clearInterval(timer);
  },
};
