/**
 * Coordinates two threads that write to one file. SQLite's lock alone decides who writes, but a blocked writer polls it
 * every few milliseconds. The gate notifies the worker that the main thread waits, and the main thread that it may write.
 */
const HELD = 0;
const WANTED = 1;
const STOPPED = 2;
/** Index of the counter of the main thread's writes and tasks. */
const USES = 3;
const MERGING = 4;
const CELLS = 5;
/** Timeout of waiting for the other thread; then SQLite's lock decides. Milliseconds. */
const WAIT_MS = 100;

export class Gate {
  /** For the other thread's `Gate`. */
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array;

  constructor(buffer = new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer);
  }

  /** Runs the main thread's write, as soon as the worker has ended its transaction. */
  hurry<T>(work: () => T): T {
    Atomics.store(this.#cells, WANTED, 1);
    try {
      return this.#inside(work);
    } finally {
      Atomics.add(this.#cells, USES, 1);
      Atomics.store(this.#cells, WANTED, 0);
      Atomics.notify(this.#cells, WANTED);
    }
  }

  /** Counter of the main thread's writes and tasks. */
  get uses(): number {
    return Atomics.load(this.#cells, USES);
  }

  /** The main thread begins a task: each merge would make it read its pages again. */
  noteUse(): void {
    Atomics.add(this.#cells, USES, 1);
  }

  /** Runs the worker's write, after the main thread's. */
  yielding<T>(work: () => T): T {
    Atomics.wait(this.#cells, WANTED, 1, WAIT_MS);
    return this.#inside(work);
  }

  #inside<T>(work: () => T): T {
    const until = performance.now() + WAIT_MS;
    let isMine = Atomics.compareExchange(this.#cells, HELD, 0, 1) === 0;
    while (!isMine && performance.now() < until) {
      Atomics.wait(this.#cells, HELD, 1, WAIT_MS);
      isMine = Atomics.compareExchange(this.#cells, HELD, 0, 1) === 0;
    }
    try {
      return work();
    } finally {
      if (isMine) this.release();
    }
  }

  /** Releases what an ended thread held. */
  release(): void {
    Atomics.store(this.#cells, HELD, 0);
    Atomics.notify(this.#cells, HELD);
  }

  /** True while the main thread waits for the worker. */
  get isWanted(): boolean {
    return Atomics.load(this.#cells, WANTED) === 1;
  }

  /** Asks the worker to stop after its current transaction. */
  stop(): void {
    Atomics.store(this.#cells, STOPPED, 1);
  }

  get isStopped(): boolean {
    return Atomics.load(this.#cells, STOPPED) === 1;
  }

  /** Whether the worker has something to merge in this pause, or the next one. */
  get isMerging(): boolean {
    return Atomics.load(this.#cells, MERGING) === 1;
  }

  set isMerging(isMerging: boolean) {
    Atomics.store(this.#cells, MERGING, isMerging ? 1 : 0);
  }

  /** Sleeps, so that other processes can use the file. */
  rest(ms: number): void {
    Atomics.wait(this.#cells, STOPPED, 0, ms);
  }
}
