/** `runtimeSettings` of an engine's call: version 1 of OpenClaw's. */
import type { RuntimeSettings } from "@pagurus/contract/engine/runtime-settings";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { Degradation } from "@pagurus/contract/host/events";
import type { ModelInfo } from "@pagurus/contract/model";

interface SettingsScope {
  readonly host: { slot: { id: string; configured: boolean } };
  readonly model: ModelInfo;
  readonly harness: Pick<AgentHarness, "id" | "label">;
  readonly tokenBudget: number;
}

/** `degraded`: the running turn's degradations so far. */
export function runtimeSettings(
  { host, model, harness, tokenBudget }: SettingsScope,
  degraded: readonly Degradation[],
): RuntimeSettings {
  const isDegraded = degraded.length > 0;
  const notes = degraded.map(({ stage, reason }) => `${stage}: ${reason}`);
  return {
    schemaVersion: 1,
    runtime: {
      host: "openclaw",
      mode: isDegraded ? "degraded" : "normal",
      harnessId: harness.id,
      runtimeId: harness.id,
    },
    model: {
      requested: model.writtenAs ?? model.ref,
      resolved: model.ref,
      provider: model.provider,
      family: null,
    },
    contextEngineSelection: {
      selectedId: host.slot.id,
      source: host.slot.configured ? "configured" : "default",
    },
    executionHost: { id: harness.id, label: harness.label },
    limits: { promptTokenBudget: tokenBudget, maxOutputTokens: model.maxTokens },
    diagnostics: {
      fallbackReason: null,
      degradedReason: isDegraded ? "unknown" : null,
      ...(isDegraded && { notes }),
    },
  };
}
