/**
 * Manners of two threads that write to one file. SQLite's lock alone decides who writes; but who finds it taken sleeps for
 * milliseconds and asks again. Here the worker hears that the main thread waits, and the main thread that it may go on.
 */
const HELD = 0;
const WANTED = 1;
const STOPPED = 2;
/** How often the main thread has written. */
const WRITES = 3;
const CELLS = 4;
/** Longest wait for the other thread, then SQLite's lock is asked. Milliseconds. */
const WAIT_MS = 100;

export class Gate {
  /** For the other thread's `Gate`. */
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array;

  constructor(buffer = new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer);
  }

  /** The main thread's way through: as soon as the worker is out. */
  hurry<T>(work: () => T): T {
    Atomics.store(this.#cells, WANTED, 1);
    try {
      return this.#inside(work);
    } finally {
      Atomics.add(this.#cells, WRITES, 1);
      Atomics.store(this.#cells, WANTED, 0);
      Atomics.notify(this.#cells, WANTED);
    }
  }

  /** Changes whenever the main thread has written. */
  get writes(): number {
    return Atomics.load(this.#cells, WRITES);
  }

  /** The worker's way through: behind the main thread. */
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

  /** Of a thread that has ended: what it held is free. */
  release(): void {
    Atomics.store(this.#cells, HELD, 0);
    Atomics.notify(this.#cells, HELD);
  }

  /** The main thread waits for the worker. */
  get isWanted(): boolean {
    return Atomics.load(this.#cells, WANTED) === 1;
  }

  /** Asks the worker to end behind the transaction that it is in. */
  stop(): void {
    Atomics.store(this.#cells, STOPPED, 1);
  }

  get isStopped(): boolean {
    return Atomics.load(this.#cells, STOPPED) === 1;
  }

  /** Leaves the file to other processes for a moment. */
  rest(ms: number): void {
    Atomics.wait(this.#cells, STOPPED, 0, ms);
  }
}
