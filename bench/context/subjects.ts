/** What is measured next to the baselines: engines, each in its settings, and their recall. One line each. */
import type { ContextEngineFactory } from "../../packages/contract/src/engine/engine.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { createLosslessEngine } from "../../packages/lossless/src/lossless-engine.ts";
import type { EngineOptions } from "../../packages/replay/src/engine/driver-params.ts";
import { losslessRecaller } from "./recall/lossless.ts";
import type { Recaller } from "./recall/recaller.ts";

export interface EngineSubject {
  name: string;
  create: ContextEngineFactory;
  /** Checked against the targets of the benchmark; others are only shown. */
  judged: boolean;
  /** Settings that are measured, by their names, for one window. */
  settings(window: number): Record<string, Omit<EngineOptions, "window">>;
}

function triggerAt(trigger: number): unknown {
  return { plugins: { entries: { lossless: { config: { trigger } } } } };
}

export const ENGINES: readonly EngineSubject[] = [
  { name: "legacy", create: createLegacyEngine, judged: false, settings: () => ({ default: {} }) },
  {
    name: "lossless",
    create: createLosslessEngine,
    judged: true,
    // The trigger is one number for every window; the budget bounds it.
    settings: (window) => ({ default: {}, "largest trigger": { config: triggerAt(window) } }),
  },
];

/** Each makes a fresh recaller for one history. */
export const RECALLERS: readonly (() => Recaller)[] = [losslessRecaller];
