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

/** Host tools that programs with threads replace by their own. */
export const NATIVE_TOOLS = ["read", "write", "edit", "glob", "search", "shell"];

/** How long the result of a look for a program is cached, ms: a turn costs none, and an installation is noticed soon. */
const LOOK_HOLDS_MS = 10_000;

/** The result of `look`, refreshed when it is older than `LOOK_HOLDS_MS`. */
export function remembered<T>(look: () => T): () => T {
  let last: { at: number; answer: T } | undefined;
  return () => {
    const now = performance.now();
    if (!last || now - last.at > LOOK_HOLDS_MS) last = { at: now, answer: look() };
    return last.answer;
  };
}

/** Longest reason of a program in an error, in characters. */
const MOST_REASON_CHARACTERS = 300;

/** A program's reason as the end of an error: one line, cut, with a full stop. */
export function shortReason(line: string): string {
  const cut = line.length > MOST_REASON_CHARACTERS ? `${line.slice(0, MOST_REASON_CHARACTERS)}…` : line;
  return cut.replace(/\.?$/, ".");
}

/** A run of a turn whose modules are imported when it begins. */
export function lazyRun(load: () => Promise<HarnessRun>): HarnessRun {
  let loaded: Promise<HarnessRun> | undefined;
  const run = (): Promise<HarnessRun> => (loaded ??= load());
  return {
    run: async () => (await run()).run(),
    continueWith: async (inputs) => (await run()).continueWith(inputs),
  };
}
