/** Waits in tests for what another process or a later step of the event loop does. */
import assert from "node:assert/strict";
import { setImmediate as turnOfLoop, setTimeout as pause } from "node:timers/promises";

/** Longest wait, ms: a busy machine starts programs slowly. */
const LONGEST_MS = 60_000;
const PAUSE_MS = 10;
/** Turns of the event loop before the first pause: most conditions are met within them. */
const TURNS = 50;

type Condition = () => boolean | Promise<boolean>;

/** Resolves when the condition is true. `about`: what is reported when it never is. */
export async function until(isMet: Condition, about?: string | (() => string)): Promise<void> {
  await untilWithin(LONGEST_MS, isMet, about);
}

/** The same where the time is a part of what is tested. */
export async function untilWithin(
  ms: number,
  isMet: Condition,
  about: string | (() => string) = () => `not within ${ms / 1_000} s: ${String(isMet)}`,
): Promise<void> {
  const end = performance.now() + ms;
  for (let looks = 0; !(await isMet()); looks += 1) {
    assert.ok(performance.now() < end, typeof about === "string" ? about : about());
    await (looks < TURNS ? turnOfLoop() : pause(PAUSE_MS));
  }
}
