/** How much memory short-lived objects may take in a process that is Pagurus and nothing else. */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Bytes; V8 begins with less, and a smaller one moves what dies soon to the old generation. */
const LEAST = 8 * 1024 * 1024;

/**
 * Keeps the young generation as large as it is once the host is loaded (8 MB measured). By itself V8 doubles it under
 * load, up to 128 MB, and keeps them: half of what a host with 100,000 messages had resident. Not for a library: the
 * flag holds for the whole process.
 */
export function keepYoungGenerationSmall(): void {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  if ((space?.space_size ?? 0) >= LEAST) setFlagsFromString("--semi-space-growth-factor=1");
}
