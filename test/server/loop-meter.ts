/**
 * Preloaded into a server (`--import`): the longest work of its event loop, as CPU time of the main thread and in bytes, and its heap
 * and objects after a collection. SIGURG writes them as JSON to the file `LOOP_METER`, and starts again.
 */
import { writeFileSync } from "node:fs";
import { queryObjects, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { followWork, takeWork } from "./work-meter.ts";

const TICK_MS = 5;
const file = process.env["LOOP_METER"];

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

if (file !== undefined) {
  followWork();
  let last = cpuMs();
  let longestMs = 0;
  setInterval(() => {
    const now = cpuMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
  }, TICK_MS).unref();
  process.on("SIGURG", () => {
    const longest = Math.max(longestMs, cpuMs() - last);
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
    const heapMb = process.memoryUsage().heapUsed / 2 ** 20;
    const objects = queryObjects(Object, { format: "count" });
    writeFileSync(file, JSON.stringify({ longestMs: longest, heapMb, objects, work: takeWork() }));
    longestMs = 0;
    last = cpuMs();
  });
}
