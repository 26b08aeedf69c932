import { compactionSettings } from "../compaction/settings.ts";
import { inAttemptEnabled } from "../compaction/policy.ts";
import type { ContextEngine } from "../contract/engine.ts";
import type { ContextGauge } from "../contract/events.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { AgentHost } from "./scope.ts";

/** Whether the run's own threshold check compacts inside a turn, with this engine, model and configuration. */
export function compactsInAttempt(
  host: AgentHost,
  engine: ContextEngine,
  model: Pick<ModelInfo, "truncatesSilently">,
): boolean {
  const { mode } = compactionSettings(host.config);
  return inAttemptEnabled(engine.info, mode, model.truncatesSilently);
}

/** How full the context is, and who makes it smaller: between turns, and inside one. */
export function contextGauge(
  host: AgentHost,
  engine: ContextEngine | undefined,
  model: Pick<ModelInfo, "truncatesSilently"> | undefined,
  fill: { tokens: number; budget: number },
): ContextGauge {
  if (!engine || !model || fill.budget <= 0) return fill;
  const native = host.config.agents?.defaults?.compaction?.owner === "native";
  const queued = native ? "built-in" : engine.info.id;
  const gauge: ContextGauge = { ...fill, next: { lane: "queued", handler: queued } };
  if (!compactsInAttempt(host, engine, model))
    return { ...gauge, inTurn: { lane: "queued", handler: queued } };
  const { mode } = compactionSettings(host.config);
  const handler =
    engine.info.interceptsCompaction === true
      ? engine.info.id
      : mode === "safeguard"
        ? "safeguard"
        : "built-in";
  return { ...gauge, inTurn: { lane: "in-attempt", handler } };
}
