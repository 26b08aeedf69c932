/** Splits long work into slices, between which the event loop runs timers, aborts and other turns. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { PagurusError } from "@pagurus/contract/errors";

/** Length of a slice: it ends at the first item after this time, ms. */
const SLICE_MS = 5;
/** Items sorted at once; longer lists are merged from such runs. */
const RUN = 1_024;

/** Requests of more bytes are worked on in slices. */
export const LONG_BYTES = 2 ** 16;

/** At module level, since all hosts of a process share its event loop. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves when the next slice of long work may run. Each turn of the event loop runs one slice of all requests, so that many long
 * requests do not add up to one long pause.
 */
export async function nextSlice(): Promise<void> {
  const own = last.then(() => nextTurn());
  last = own;
  await own;
}

/**
 * Slice timer of one piece of work. Its methods throw `turn_aborted` at the end of a slice once the signal has aborted.
 */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #until = performance.now() + SLICE_MS;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** The slice is over: await `rest`. */
  get due(): boolean {
    return performance.now() >= this.#until;
  }

  /** Throws `turn_aborted` once the signal has aborted. */
  check(): void {
    if (this.#signal?.aborted) {
      throw new PagurusError("turn_aborted", "The work was aborted.", { cause: this.#signal.reason });
    }
  }

  async rest(): Promise<void> {
    await nextSlice();
    this.check();
    this.#until = performance.now() + SLICE_MS;
  }

  async each<T>(items: Iterable<T>, work: (item: T, index: number) => void): Promise<void> {
    let index = 0;
    for (const item of items) {
      work(item, index);
      index += 1;
      if (this.due) await this.rest();
    }
  }

  /** As `toSorted`. */
  async sorted<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
    let runs: T[][] = [];
    for (let at = 0; at < items.length; at += RUN) {
      runs.push(items.slice(at, at + RUN).sort(compare));
      if (this.due) await this.rest();
    }
    while (runs.length > 1) {
      const merged: T[][] = [];
      for (let at = 0; at < runs.length; at += 2) {
        merged.push(await this.#merged(runs[at] ?? [], runs[at + 1] ?? [], compare));
      }
      runs = merged;
    }
    return runs[0] ?? [];
  }

  async #merged<T>(first: T[], second: T[], compare: (a: T, b: T) => number): Promise<T[]> {
    const merged: T[] = [];
    let next = 0;
    for (const item of first) {
      for (let other = second[next]; next < second.length; other = second[next]) {
        if (compare(item, other as T) <= 0) break;
        merged.push(other as T);
        next += 1;
        if (this.due) await this.rest();
      }
      merged.push(item);
      if (this.due) await this.rest();
    }
    // Not by spread: a list may exceed the maximum number of arguments.
    return second.length === next ? merged : merged.concat(second.slice(next));
  }
}
