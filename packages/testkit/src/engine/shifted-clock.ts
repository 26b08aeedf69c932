/** A process-wide clock shift for the time that `work` runs. */

/** Runs `work` with `Date` ahead by `ms`. Timers are not touched. One at a time. */
export async function withShiftedClock<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const Real = globalThis.Date;
  class ShiftedDate extends Real {
    constructor(...args: [] | [number | string | Date]) {
      if (args.length === 0) super(Real.now() + ms);
      else super(args[0]);
    }
    static override now(): number {
      return Real.now() + ms;
    }
  }
  globalThis.Date = ShiftedDate as DateConstructor;
  try {
    return await work();
  } finally {
    globalThis.Date = Real;
  }
}
