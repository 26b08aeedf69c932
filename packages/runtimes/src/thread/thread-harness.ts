/** What the runtimes with native threads register in the same way. */
import type { HostCapability } from "@pagurus/contract/engine/engine";
import type { HarnessRun } from "@pagurus/contract/harness/harness";

/** Of a runtime whose threads begin with the assembled context. */
export const THREAD_CAPABILITIES: readonly HostCapability[] = [
  "bootstrap",
  "assemble-before-prompt",
  "after-turn",
  "maintain",
  "compact",
  "runtime-llm-complete",
  "thread-bootstrap-projection",
];

/** A run of a turn whose modules are imported when it begins. */
export function lazyRun(load: () => Promise<HarnessRun>): HarnessRun {
  let loaded: Promise<HarnessRun> | undefined;
  const run = (): Promise<HarnessRun> => (loaded ??= load());
  return {
    run: async () => (await run()).run(),
    continueWith: async (inputs) => (await run()).continueWith(inputs),
  };
}
