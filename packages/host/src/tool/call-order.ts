/**
 * Schedules the calls of one tool set. Calls that may change something run alone, in the requested order; read-only calls run
 * in parallel, a few at a time. So no call sees a half-written file, and an answer with hundreds of calls does not start
 * hundreds of programs.
 */

export interface CallOrder {
  /**
   * Runs `work` in its turn: `alone` after every earlier call, else after every earlier exclusive one. Rejects with the
   * signal's reason while it waits.
   */
  run<T>(kind: "alone" | "beside", signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  alone: boolean;
  start(): void;
}

/** `most`: maximum concurrent calls. */
export function createCallOrder(most: number): CallOrder {
  const waiting: Waiting[] = [];
  let running = 0;
  let aloneRuns = false;

  function startNext(): void {
    for (let next = waiting[0]; next; next = waiting[0]) {
      const free = next.alone ? running === 0 : !aloneRuns && running < most;
      if (!free) return;
      waiting.shift();
      running += 1;
      aloneRuns = next.alone;
      next.start();
    }
  }

  function turn(alone: boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(entry), 1);
        reject(signal.reason as Error);
        startNext();
      };
      const entry: Waiting = {
        alone,
        start: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(entry);
      startNext();
    });
  }

  return {
    async run(kind, signal, work) {
      signal.throwIfAborted();
      await turn(kind === "alone", signal);
      try {
        return await work();
      } finally {
        running -= 1;
        aloneRuns = false;
        startNext();
      }
    },
  };
}
