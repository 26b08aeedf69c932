/** Codex's errors as ours, with Codex's own code kept. Source: facts of the app-server, section 7. */
import { PagurusError, type ErrorCode } from "../../contract/errors.ts";

/** `TurnError` as it comes; fields are checked where they are read. */
export interface NativeError {
  message?: unknown;
  codexErrorInfo?: unknown;
}

const BY_NAME: Readonly<Record<string, ErrorCode>> = {
  contextWindowExceeded: "context_overflow",
  sessionBudgetExceeded: "cost_limit",
  usageLimitExceeded: "model_rate_limited",
  rateLimitExceeded: "model_rate_limited",
  responseTooManyFailedAttempts: "model_rate_limited",
  serverOverloaded: "model_unavailable",
  flexUnavailable: "model_unavailable",
  policyCapacityUnavailable: "model_unavailable",
  internalServerError: "model_unavailable",
  httpConnectionFailed: "model_unavailable",
  responseStreamConnectionFailed: "model_unavailable",
  responseStreamDisconnected: "model_stream_cut",
  modelNotFound: "model_unknown",
  unauthorized: "model_auth",
  badRequest: "model_bad_request",
  cyberPolicy: "model_refused",
  misalignmentPolicyViolation: "model_refused",
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "model_bad_request",
  401: "model_auth",
  403: "model_auth",
  404: "model_unknown",
  429: "model_rate_limited",
};

/** Name and HTTP status of Codex's code, whichever of its two shapes it has. */
export function nativeCode(info: unknown): { name: string; status?: number } {
  if (typeof info === "string") return { name: info };
  if (typeof info !== "object" || info === null) return { name: "other" };
  const [name = "other", facts] = Object.entries(info)[0] ?? [];
  const status = (facts as { httpStatusCode?: unknown } | null)?.httpStatusCode;
  return typeof status === "number" ? { name, status } : { name };
}

function codeOf(name: string, status: number | undefined, message: string): ErrorCode {
  const byStatus = status === undefined ? undefined : BY_STATUS[status];
  if (byStatus) return byStatus;
  if (name === "other" && /stream disconnected|stream closed/i.test(message)) return "model_stream_cut";
  return BY_NAME[name] ?? "runtime_failed";
}

/** `error` of a failed turn, or of an `error` notification. */
export function turnFailure(error: NativeError | null | undefined): PagurusError {
  const message = typeof error?.message === "string" ? error.message : "it gave no reason";
  const { name, status } = nativeCode(error?.codexErrorInfo);
  const shown = status === undefined ? name : `${name}, HTTP ${status}`;
  return new PagurusError(
    codeOf(name, status, message),
    `Codex ended the turn with an error (${shown}): ${message.replace(/\.?$/, ".")} The conversation is kept; send the request again.`,
    { details: { codexError: name, ...(status === undefined ? {} : { status }) } },
  );
}
