/**
 * Preloaded into a server (`--import`): the longest work of its event loop, as CPU time of the main thread, which does not depend on
 * what else the machine does. SIGUSR2 writes it as milliseconds to the file `LOOP_METER`, and starts again.
 */
import { writeFileSync } from "node:fs";

const TICK_MS = 5;
const file = process.env["LOOP_METER"];

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

if (file !== undefined) {
  let last = cpuMs();
  let longest = 0;
  setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, TICK_MS).unref();
  process.on("SIGUSR2", () => {
    writeFileSync(file, String(longest));
    longest = 0;
    last = cpuMs();
  });
}
