/** Turns of the event loop, by which a test in one process waits for sockets and streams of its own, however slow the machine is. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Lets others have `count` turns: what is on its way within the process arrives. */
export async function turns(count = 100): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

/** Resolves when the value has stayed the same for 1,000 turns. */
export async function untilStays(value: () => unknown): Promise<void> {
  for (let last: unknown = Symbol("none"); last !== value();) {
    last = value();
    await turns(1_000);
  }
}

/** Counts the turns that others have during a piece of work. */
export async function loopTurns(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  let isOver = false;
  const counting = (async () => {
    for (await nextTurn(); !isOver; await nextTurn()) count += 1;
  })();
  await work();
  isOver = true;
  await counting;
  return count;
}
