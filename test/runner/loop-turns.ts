/** Counts the turns of the event loop that others have during a piece of work. */
import { setImmediate as nextTurn } from "node:timers/promises";

export async function loopTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (await nextTurn(); !isOver; await nextTurn()) turns += 1;
  })();
  await work();
  isOver = true;
  await counting;
  return turns;
}
