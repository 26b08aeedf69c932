/** A clock that a test moves: what waits for it continues at once, and no test depends on the speed of the machine. */
import type { Clock } from "../../packages/core/src/data/clock.ts";
import { until } from "./until.ts";

interface Timer {
  at: number;
  /** As it was asked for. */
  ms: number;
  work: () => void;
  repeats: boolean;
}

export class TestClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now: number;

  constructor(now = Date.parse("2026-06-01T12:00Z")) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  ticks(): number {
    return this.#now;
  }

  after(ms: number, work: () => void): () => void {
    return this.#add({ at: this.#now + ms, ms, work, repeats: false });
  }

  every(ms: number, work: () => void): () => void {
    return this.#add({ at: this.#now + ms, ms, work, repeats: true });
  }

  #add(timer: Timer): () => void {
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Delays of the timers that are set, ms, the next one first: `[2000, 60000]`. */
  get pending(): number[] {
    return this.#inOrder().map(({ ms }) => ms);
  }

  #inOrder(): Timer[] {
    return [...this.#timers].toSorted((one, other) => one.at - other.at);
  }

  /** When the next timer is due, ms since the epoch. */
  get nextAt(): number | undefined {
    return this.#inOrder()[0]?.at;
  }

  /** Forgets all timers, as the end of a process does. */
  clear(): void {
    this.#timers.clear();
  }

  /** Moves the time, and calls what is due on the way, in order. */
  move(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      if (next.repeats) next.at += next.ms;
      else this.#timers.delete(next);
      next.work();
    }
    this.#now = end;
  }

  #next(end: number): Timer | undefined {
    return this.#inOrder().find(({ at }) => at <= end);
  }

  /** Waits for a condition, and ends the pauses of up to `longestMs` on the way to it. */
  async passUntil(longestMs: number, isMet: () => boolean | Promise<boolean>): Promise<void> {
    await until(
      async () => {
        if (await isMet()) return true;
        const [next] = this.#inOrder();
        if (next && next.ms <= longestMs) this.move(Math.max(0, next.at - this.#now));
        return false;
      },
      `never met: ${String(isMet)}`,
    );
  }

  /** Ends the pauses of up to `longestMs` until the work is done, and returns its outcome. */
  async passWhile<T>(longestMs: number, work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = (): void => void (isDone = true);
    work.then(done, done);
    await this.passUntil(longestMs, () => isDone);
    return work;
  }

  /** Resolves when a timer of `ms` is set: the work before that pause is done. */
  async paused(ms: number): Promise<void> {
    await until(() => this.pending.includes(ms), `no timer of ${ms} ms was set`);
  }

  /** Waits for a timer of `ms`, and moves the time to its end. */
  async pass(ms: number): Promise<void> {
    await this.paused(ms);
    const due = this.#inOrder().find((timer) => timer.ms === ms);
    if (due) this.move(due.at - this.#now);
  }
}
