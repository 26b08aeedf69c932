/** Waits for the end of a native turn, while input that arrives meanwhile joins it. */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";

/** Sends the input that has arrived to the program. False when no more can come. `over` settles with the end, or what stops it. */
export type Steer = (until: { over: Promise<unknown>; aborted: Promise<"aborted"> }) => Promise<boolean>;

interface Running<End, Stop> {
  /** Rejects when the program ends. */
  ended: Promise<End>;
  /** Reasons to interrupt it, in addition to the turn's abort. */
  stops: readonly Promise<Stop>[];
  steer: Steer;
}

function abortOf(signal: AbortSignal, until: AbortSignal): Promise<"aborted"> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true, signal: until });
  });
}

const INPUT = Symbol("input");

/** The end of a native turn, or why it has to be interrupted. Rejects as `ended` and `steer`. */
export async function endOf<End, Stop extends string>(
  { io, signal }: HarnessTurn,
  { ended, stops, steer }: Running<End, Stop>,
): Promise<End | Stop | "aborted"> {
  const watch = new AbortController();
  const aborted = abortOf(signal, watch.signal);
  const ends: Promise<End | Stop | "aborted">[] = [ended, aborted, ...stops];
  const over = Promise.race(ends);
  over.catch(() => undefined);
  try {
    for (;;) {
      const arrives = io.inputArrives().then((): typeof INPUT => INPUT);
      // The end comes first where both have come.
      const what = await Promise.race([...ends, arrives]);
      if (what !== INPUT) return what;
      if (!(await steer({ over, aborted }))) return await over;
    }
  } finally {
    // A signal keeps its listeners permanently, and the whole turn with them. A reason of its own saves an exception with a stack.
    watch.abort("over");
  }
}

/** Waits for the end of a native turn after its interrupt: true also when it fails, false when that takes longer. */
export function endsWithin(
  ended: Promise<unknown>,
  ms: number,
  clock: Clock = SYSTEM_CLOCK,
): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => {
    clock.after(ms, () => resolve(false), { ref: false });
  });
  const isOver = ended.then(
    () => true,
    () => true,
  );
  return Promise.race([isOver, late]);
}
