/** Why a model call failed, as far as another model can help, and whether its whole provider failed with it. */
import type { FailureReason } from "@pagurus/contract/fallback";
import type { ErrorCode, PagurusError } from "@pagurus/contract/errors";

const TIMED_OUT = /\b(?:ETIMEDOUT|UND_ERR_(?:HEADERS|CONNECT|BODY)_TIMEOUT)\b/;
const UNPAID = /insufficient_quota|exceeded your current quota|billing|credit balance|payment required/i;

/** Facts of a failed call. */
interface FailedCall {
  code: ErrorCode;
  /** HTTP status; absent below HTTP. */
  status?: number;
  /** Codes and messages of the error and its causes. */
  causes: string;
  /** The provider's own words. */
  text: string;
  /** Silence ended the answer. */
  idle: boolean;
  started: boolean;
}

/** Undefined where another model cannot help: the request or the context is wrong, or the answer was refused. */
export function failureReasonOf(call: FailedCall): FailureReason | undefined {
  const { code, status, causes, text, idle } = call;
  switch (code) {
    case "model_auth":
      return "auth";
    case "model_rate_limited":
      return UNPAID.test(text) ? "billing" : "rate_limit";
    case "model_unknown":
      return "model_not_found";
    case "model_stream_cut":
      return idle ? "timeout" : "stream_cut";
    case "model_unavailable":
      if (status !== undefined) return unavailable(status);
      if (call.started) return /overloaded/i.test(text) ? "overloaded" : "server_error";
      return TIMED_OUT.test(causes) ? "timeout" : "unreachable";
    case "model_bad_request":
      return status === 402 || (status !== undefined && UNPAID.test(text)) ? "billing" : undefined;
    default:
      return undefined;
  }
}

function unavailable(status: number): FailureReason {
  // A redirect: nothing answers at the configured address.
  if (status < 400) return "unreachable";
  if (status === 503 || status === 529) return "overloaded";
  return status === 408 ? "timeout" : "server_error";
}

const REASONS: ReadonlySet<unknown> = new Set<FailureReason>([
  "rate_limit",
  "overloaded",
  "server_error",
  "timeout",
  "unreachable",
  "stream_cut",
  "auth",
  "billing",
  "model_not_found",
]);

/** The reason that a failed call's error has in its details. */
export function failureReason({ details }: PagurusError): FailureReason | undefined {
  return isFailureReason(details["reason"]) ? details["reason"] : undefined;
}

function isFailureReason(value: unknown): value is FailureReason {
  return REASONS.has(value);
}

/** The pause that the provider asked for, ms. */
export function askedPauseOf({ details }: PagurusError): number | undefined {
  const asked = details["retryAfterMs"];
  return typeof asked === "number" ? asked : undefined;
}

const OF_PROVIDER: ReadonlySet<FailureReason> = new Set(["auth", "billing", "unreachable", "timeout"]);

/** Whether other models of the same provider would fail too. Limits and overload are counted by model. */
export function concernsProvider(reason: FailureReason): boolean {
  return OF_PROVIDER.has(reason);
}
