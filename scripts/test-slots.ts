/** How many jobs run at once: many tests wait for a deadline, a process or a socket, and others use a core each. */
import { availableParallelism, cpus } from "node:os";

const CORES = availableParallelism();

export interface Slots {
  /** Jobs at once at any load. */
  least: number;
  /** Jobs at once while cores are idle; more of them slow each other down. */
  most: number;
}

export const SLOTS: Slots = { least: CORES, most: 3 * CORES };
/** For jobs that start large programs, or measure: as many at any time. */
export const FIXED_SLOTS: Slots = { least: CORES + 1, most: CORES + 1 };

const LOOK_MS = 500;
/** Share of the cores' time since the last look above which another job starts. */
const IDLE_SHARE = 0.1;

/** Share of the time of all cores that was idle since the last call, from 0 to 1. */
function idleMeter(): () => number {
  const read = (): { idle: number; all: number } => {
    const times = cpus().map(({ times: each }) => each);
    return {
      idle: times.reduce((sum, { idle }) => sum + idle, 0),
      all: times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0),
    };
  };
  let last = read();
  return () => {
    const now = read();
    const share = now.all > last.all ? (now.idle - last.idle) / (now.all - last.all) : 0;
    last = now;
    return share;
  };
}

/** Runs the jobs in order, some at once; none starts after one that returned false. Rejects with the first error. */
export async function inSlots<T>(
  jobs: readonly T[],
  { least, most }: Slots,
  run: (job: T) => Promise<boolean>,
): Promise<void> {
  const waiting = [...jobs];
  const running = new Set<Promise<void>>();
  const start = (): void => {
    const job = waiting.shift();
    if (job === undefined) return;
    const work = run(job).then((goesOn) => {
      if (!goesOn) waiting.length = 0;
      running.delete(work);
    });
    running.add(work);
  };
  const idle = idleMeter();
  const timer = setInterval(() => {
    if (idle() > IDLE_SHARE && running.size < most) start();
  }, LOOK_MS);
  try {
    while (waiting.length > 0 || running.size > 0) {
      while (waiting.length > 0 && running.size < least) start();
      await Promise.race(running);
    }
  } finally {
    clearInterval(timer);
  }
}
