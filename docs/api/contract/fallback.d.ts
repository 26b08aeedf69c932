/** Fallback models of a turn, and the cooldowns of models that failed. */
/** Failures of a model call that another model can help with. */
export type FailureReason = "rate_limit" | "overloaded" | "server_error" | "timeout" | "unreachable"
/** The answer broke off before its first text. */
 | "stream_cut" | "auth" | "billing" | "model_not_found";
/** `cooldown`: the model was not called, because it failed a short time ago. */
export type FallbackReason = FailureReason | "cooldown";
/** A model of the chain that was passed over: `cooldown`, `context_window`, `runtime`, a failure, or an error code. */
export interface SkippedModel {
    model: string;
    reason: string;
}
/** Another model of the configured chain takes over, for the rest of the turn. */
export interface ModelFallback {
    /** Model refs. */
    from: string;
    to: string;
    reason: FallbackReason;
    /** ISO 8601; end of the cooldown of `from`. */
    until?: string;
    /** Models between the two; absent if there are none. */
    skipped?: SkippedModel[];
}
/** A provider, or one model of it, that is not called for a time because it failed. */
export interface ModelCooldown {
    /** Provider id, or model ref. */
    target: string;
    reason: FailureReason;
    /** Failures in a row, each of which made the cooldown longer. */
    failures: number;
    /** ISO 8601. */
    until: string;
}
