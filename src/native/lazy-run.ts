/** A run of a turn whose modules are imported when it begins. */
import type { HarnessRun } from "../contract/harness/harness.ts";

export function lazyRun(load: () => Promise<HarnessRun>): HarnessRun {
  let loaded: Promise<HarnessRun> | undefined;
  const run = (): Promise<HarnessRun> => (loaded ??= load());
  return {
    run: async () => (await run()).run(),
    continueWith: async (inputs) => (await run()).continueWith(inputs),
  };
}
