import { setTimeout as pause } from "node:timers/promises";

const LOOK_MS = 50;

/** Looks until the condition holds, at most `ms`; returns whether it does. For another process, which sends no event. */
export async function metWithin(ms: number, isMet: () => boolean): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await pause(LOOK_MS))
    if (isMet()) return true;
  return false;
}
