/** `runtimeSettings` of an engine's call: version 1 of OpenClaw's. */
import type { RuntimeReasonCode, RuntimeSettings } from "@pagurus/contract/engine/runtime-settings";
import type { FallbackReason, ModelFallback } from "@pagurus/contract/fallback";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { Degradation } from "@pagurus/contract/host/events";
import type { ModelInfo } from "@pagurus/contract/model";

interface SettingsScope {
  readonly host: { slot: { id: string; configured: boolean } };
  readonly model: ModelInfo;
  readonly harness: Pick<AgentHarness, "id" | "label">;
  readonly tokenBudget: number;
}

/** What has happened in the running turn so far. */
interface TurnSoFar {
  degraded: readonly Degradation[];
  /** Reason of the model's failure that caused a degradation, else the error's code. */
  causeOf(degradation: Degradation): string | undefined;
  fallbacks: readonly ModelFallback[];
}

/** Codes of the kinds of failures; a failure of any other kind is `unknown`. */
const BY_CAUSE: Readonly<Record<FallbackReason, RuntimeReasonCode>> &
  Readonly<Record<string, RuntimeReasonCode>> = {
  rate_limit: "rate_limited",
  timeout: "provider_timeout",
  overloaded: "provider_unavailable",
  server_error: "provider_unavailable",
  unreachable: "provider_unavailable",
  stream_cut: "provider_unavailable",
  cooldown: "provider_unavailable",
  auth: "unknown",
  billing: "unknown",
  model_not_found: "unknown",
  model_rate_limited: "rate_limited",
  model_unavailable: "provider_unavailable",
  model_stream_cut: "provider_unavailable",
  context_overflow: "context_overflow",
  live_turn_too_large: "context_overflow",
  runtime_failed: "runtime_unavailable",
  runtime_unknown: "runtime_unavailable",
  runtime_unsupported: "runtime_unavailable",
};

/** `turn` is absent outside of turns. */
export function runtimeSettings(
  { host, model, harness, tokenBudget }: SettingsScope,
  turn: TurnSoFar | undefined,
): RuntimeSettings {
  const { degraded = [], fallbacks = [] } = turn ?? {};
  const isDegraded = degraded.length > 0;
  const notes = degraded.map(({ stage, reason }) => `${stage}: ${reason}`);
  const [first] = fallbacks;
  const last = fallbacks.at(-1);
  return {
    schemaVersion: 1,
    runtime: {
      host: "openclaw",
      mode: isDegraded ? "degraded" : last ? "fallback" : "normal",
      harnessId: harness.id,
      runtimeId: harness.id,
    },
    model: {
      requested: first?.from ?? model.writtenAs ?? model.ref,
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
      fallbackReason: last ? BY_CAUSE[last.reason] : null,
      degradedReason: turn && isDegraded ? degradedReason(turn) : null,
      ...(isDegraded && { notes }),
    },
  };
}

/** The newest one that is known. */
function degradedReason({ degraded, causeOf }: TurnSoFar): RuntimeReasonCode {
  const codes = degraded.map((each) =>
    each.stage === "trim" ? "context_overflow" : BY_CAUSE[causeOf(each) ?? ""],
  );
  return codes.findLast((code) => code !== undefined && code !== "unknown") ?? "unknown";
}
