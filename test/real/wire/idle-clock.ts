/**
 * Loaded into Claude Code before its own code (`BUN_OPTIONS=--preload …`): a timer of 30 to 60 minutes, as that of its idle compaction,
 * fires once the file `IDLE_CLOCK` exists, and `Date.now` is then at its time. Everything else is real.
 */
import { existsSync } from "node:fs";

const file = process.env["IDLE_CLOCK"] ?? "";
const realNow = Date.now.bind(Date);
const realTimer = globalThis.setTimeout;
const SHORTEST_MS = 30 * 60_000;
const LONGEST_MS = 60 * 60_000;
const POLL_MS = 200;
let shift = 0;

Date.now = () => realNow() + shift;

function timer(work: (...rest: unknown[]) => void, ms = 0, ...rest: unknown[]): NodeJS.Timeout {
  if (ms < SHORTEST_MS || ms > LONGEST_MS) return realTimer(work, ms, ...rest);
  const due = Date.now() + ms;
  const polled = setInterval(() => {
    if (!existsSync(file)) return;
    clearInterval(polled);
    shift += due - Date.now();
    work(...rest);
  }, POLL_MS);
  return polled;
}
globalThis.setTimeout = Object.assign(timer, realTimer) as typeof globalThis.setTimeout;
