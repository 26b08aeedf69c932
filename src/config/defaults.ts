import type { PagurusConfig } from "./types.ts";

/** Most model calls of one turn, where nothing is configured. */
export const DEFAULT_MAX_STEPS = 200;
/** Longest turn in seconds, where nothing is configured. */
export const DEFAULT_TIMEOUT_SECONDS = 3_600;
/** Characters of one tool result that are sent, where nothing is configured. */
export const DEFAULT_TOOL_RESULT_MAX_CHARS = 48_000;
/** The engine of a configuration that names none. Source: the design's "Where things live for a user". */
export const DEFAULT_CONTEXT_ENGINE = "legacy";

/** The configuration of a home without a file, as a fresh object. */
export function defaultConfig(): PagurusConfig {
  return {
    agents: {
      defaults: {
        maxSteps: DEFAULT_MAX_STEPS,
        timeoutSeconds: DEFAULT_TIMEOUT_SECONDS,
        toolResultMaxChars: DEFAULT_TOOL_RESULT_MAX_CHARS,
      },
    },
    plugins: { slots: { contextEngine: DEFAULT_CONTEXT_ENGINE } },
  };
}
