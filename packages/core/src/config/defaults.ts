import type { PagurusConfig, RetryConfig } from "./config-types.ts";

/** Default limit of model calls per turn. */
export const DEFAULT_MAX_STEPS = 200;
/** Default timeout of a turn, seconds. */
export const DEFAULT_TIMEOUT_SECONDS = 3_600;
/** Default limit of the characters sent of one tool result. */
export const DEFAULT_TOOL_RESULT_MAX_CHARS = 48_000;
/** Default time limit of a model call's retries, seconds: interactive, and in a one-shot run. */
const DEFAULT_RETRY_SECONDS = 1_800;
const DEFAULT_ONE_SHOT_RETRY_SECONDS = 300;
/** Default engine, with or without a configuration file: docs/decisions/009-default-engine.md. */
export const DEFAULT_CONTEXT_ENGINE = "lossless";
/** The pass-through engine, written into the slot when a plugin's engine leaves it. */
export const PLAIN_CONTEXT_ENGINE = "legacy";

/** The retries of a turn's model calls, ms. */
export function retryOptions(
  { maxElapsedSeconds, maxDelaySeconds }: RetryConfig = {},
  oneShot: boolean,
): { maxElapsedMs: number; maxMs?: number } {
  const elapsed = maxElapsedSeconds ?? (oneShot ? DEFAULT_ONE_SHOT_RETRY_SECONDS : DEFAULT_RETRY_SECONDS);
  return {
    maxElapsedMs: elapsed * 1_000,
    ...(maxDelaySeconds === undefined ? {} : { maxMs: maxDelaySeconds * 1_000 }),
  };
}

/** Origin of the slot's engine: the configuration, or a default with or without a configuration file. */
export type SlotSource = "config" | "unset" | "no-file";

/** The engine in the slot, and why. Source: the design's "Where things live for a user". */
export function chosenEngine(
  config: PagurusConfig,
  hasFile: boolean,
): { contextEngine: string; slotSource: SlotSource } {
  const named = config.plugins?.slots?.contextEngine;
  if (hasFile && named !== undefined) return { contextEngine: named, slotSource: "config" };
  return { contextEngine: DEFAULT_CONTEXT_ENGINE, slotSource: hasFile ? "unset" : "no-file" };
}

/** Text for each origin. */
export const SLOT_REASONS: Readonly<Record<SlotSource, string>> = {
  config: "plugins.slots.contextEngine",
  unset: "default of a configuration without one",
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
    plugins: { slots: { contextEngine: DEFAULT_CONTEXT_ENGINE } },
  };
}
