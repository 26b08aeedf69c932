/** The settings that every engine call receives beside the runtime context. */

/** Reasons of `RuntimeSettings.diagnostics`. */
export type RuntimeReasonCode =
  | "provider_timeout"
  | "provider_unavailable"
  | "rate_limited"
  | "context_overflow"
  | "runtime_unavailable"
  | "unknown";

/** Version 1 of OpenClaw's `runtimeSettings`, `host` included: engines compare it. */
export interface RuntimeSettings {
  schemaVersion: 1;
  runtime: {
    host: "openclaw";
    mode: "normal" | "fallback" | "degraded";
    harnessId: string | null;
    runtimeId: string | null;
  };
  model: {
    requested: string | null;
    resolved: string | null;
    provider: string | null;
    family: string | null;
  };
  contextEngineSelection: { selectedId: string | null; source: "configured" | "default" | "unknown" };
  executionHost: { id: string | null; label: string | null };
  limits: { promptTokenBudget: number | null; maxOutputTokens: number | null };
  diagnostics: {
    fallbackReason: RuntimeReasonCode | null;
    degradedReason: RuntimeReasonCode | null;
    /** (+) A sentence for each degradation of the turn so far; absent while there is none. */
    notes?: string[];
  };
}
