/** Limits the memory of objects that are no longer used, in a process that runs only Pagurus. */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { setProcessFlag } from "./start-script.ts";

/** Bytes; V8 starts with less, and a smaller one promotes short-lived objects to the old generation. */
const LEAST_BYTES = 8 * 1024 * 1024;
const GROWTH_PERCENT = 40;

/**
 * Keeps the young generation at the first size of at least 8 MB that it has, now or after a later collection. By default V8 doubles
 * it under load, up to 128 MB, and keeps that: half of the resident memory of a host with 100,000 messages. Not for a library: the
 * flag applies to the whole process.
 */
export function keepYoungGenerationSmall(): void {
  if (isKept()) return;
  const collections = new PerformanceObserver(() => {
    if (isKept()) collections.disconnect();
  });
  collections.observe({ entryTypes: ["gc"] });
}

/**
 * As above, and collects the old generation once it has grown by so much of what was in use, where V8 may wait until it is four times as
 * large: a server lives for days, and what one large request needed should not stay. No slower in the requests of the inspector.
 */
export function keepServerHeapSmall(): void {
  keepYoungGenerationSmall();
  setProcessFlag("heap-growing-percent", String(GROWTH_PERCENT), "0");
}

/**
 * Collects everything unused at once, about 15 ms, and gives the memory back to the system: for a process that begins to wait. V8 would
 * collect when the next work allocates.
 */
export function collectUnused(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "major"; flavor: "last-resort" }) => void;
  // Compiled code is kept for the same flags alone.
  setFlagsFromString("--no-expose-gc");
  collect({ type: "major", flavor: "last-resort" });
}

function isKept(): boolean {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  const isLarge = (space?.space_size ?? 0) >= LEAST_BYTES;
  if (isLarge) setProcessFlag("semi-space-growth-factor", "1", "2");
  return isLarge;
}
