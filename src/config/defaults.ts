import type { PagurusConfig } from "./types.ts";

/** Most model calls of one turn, where nothing is configured. */
export const DEFAULT_MAX_STEPS = 200;
/** Longest turn in seconds, where nothing is configured. */
export const DEFAULT_TIMEOUT_SECONDS = 3_600;
/** Characters of one tool result that are sent, where nothing is configured. */
export const DEFAULT_TOOL_RESULT_MAX_CHARS = 48_000;
/** The engine of a configuration that names none: nobody's context changes under them. */
export const DEFAULT_CONTEXT_ENGINE = "legacy";
/** The engine of a home without a configuration file, and of a file that Pagurus makes. */
const GENERATED_CONTEXT_ENGINE = "lossless";

/** Where the slot's engine comes from: the configuration, or a default with or without a configuration file. */
export type SlotSource = "config" | "unset" | "no-file";

/** Which engine is in the slot, and why. Source: the design's "Where things live for a user". */
export function chosenEngine(
  config: PagurusConfig,
  hasFile: boolean,
): { contextEngine: string; slotSource: SlotSource } {
  if (!hasFile) return { contextEngine: GENERATED_CONTEXT_ENGINE, slotSource: "no-file" };
  const named = config.plugins?.slots?.contextEngine;
  return named === undefined
    ? { contextEngine: DEFAULT_CONTEXT_ENGINE, slotSource: "unset" }
    : { contextEngine: named, slotSource: "config" };
}

/** The source in words. */
export const SLOT_REASONS: Readonly<Record<SlotSource, string>> = {
  config: "plugins.slots.contextEngine",
  unset: "default of a configuration that names none",
  "no-file": "default without a configuration file",
};

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
    plugins: { slots: { contextEngine: GENERATED_CONTEXT_ENGINE } },
  };
}
