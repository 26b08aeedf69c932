/** Limits the memory of short-lived objects in a process that runs only Pagurus. */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Bytes; V8 starts with less, and a smaller one promotes short-lived objects to the old generation. */
const LEAST = 8 * 1024 * 1024;

/**
 * Keeps the young generation at its size once the host is loaded (8 MB measured). By default V8 doubles it under load, up to
 * 128 MB, and keeps that: half of the resident memory of a host with 100,000 messages. Not for a library: the flag applies to
 * the whole process.
 */
export function keepYoungGenerationSmall(): void {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  if ((space?.space_size ?? 0) >= LEAST) setFlagsFromString("--semi-space-growth-factor=1");
}
