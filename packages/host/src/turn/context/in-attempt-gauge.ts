import { compactionSettings } from "@pagurus/core/compaction/compaction-settings";
import { inAttemptEnabled } from "@pagurus/core/compaction/policy";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { ContextGauge } from "@pagurus/contract/host/events";
import type { Receipt } from "@pagurus/contract/session/receipt";
import type { ModelInfo } from "@pagurus/contract/model";
import type { AgentHost } from "../agent/agent-host.ts";

/** Whether the run's own threshold check compacts inside a turn, with this engine, model and configuration. */
export function compactsInAttempt(
  host: AgentHost,
  engine: ContextEngine,
  model: Pick<ModelInfo, "truncatesSilently">,
): boolean {
  const { mode } = compactionSettings(host.config);
  return inAttemptEnabled(engine.info, mode, model.truncatesSilently);
}

/** `compaction.owner` is the runtime: its built-in compaction replaces the engine's. */
export function runtimeCompacts({ config }: Pick<AgentHost, "config">): boolean {
  return config.agents?.defaults?.compaction?.owner === "native";
}

/** Summarizer used when no handler supplies a summary. */
export function summarizerName({ config }: Pick<AgentHost, "config">): "safeguard" | "built-in" {
  return compactionSettings(config).mode === "safeguard" ? "safeguard" : "built-in";
}

/** Number of results in a request that are shortened or cleared for their age; empty if there are none. */
export function agedIn(receipt: Pick<Receipt, "parts"> | undefined): Pick<ContextGauge, "agedResults"> {
  const count = receipt?.parts.filter(({ trimmed }) => trimmed?.aged !== undefined).length ?? 0;
  return count === 0 ? {} : { agedResults: count };
}

/**
 * How full the context is, at which size it is compacted, and by whom: between turns, and inside one. The only place that computes the
 * point of the next compaction; `engine` is absent where the runtime compacts its own thread. `trigger`: of the engine's own report.
 */
export function contextGauge(
  host: AgentHost,
  engine: ContextEngine | undefined,
  model: Pick<ModelInfo, "truncatesSilently"> | undefined,
  {
    trigger,
    ...fill
  }: Pick<ContextGauge, "tokens" | "budget" | "agedResults"> & { trigger: number | undefined },
): ContextGauge {
  if (!engine || !model || fill.budget <= 0) return fill;
  const queued = runtimeCompacts(host) ? "built-in" : engine.info.id;
  const compactsAt = Math.min(fill.budget, trigger ?? Infinity);
  const gauge: ContextGauge = { ...fill, compactsAt, next: { lane: "queued", handler: queued } };
  if (!compactsInAttempt(host, engine, model))
    return { ...gauge, inTurn: { lane: "queued", handler: queued } };
  const handler = engine.info.interceptsCompaction === true ? engine.info.id : summarizerName(host);
  return { ...gauge, inTurn: { lane: "in-attempt", handler } };
}
