/** Maps Codex's errors to ours and keeps Codex's own code. Source: facts of the app-server, section 7. */
import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import { defined } from "@pagurus/core/data/defined";
import { shortReason } from "../thread/thread-harness.ts";

/** `TurnError` unchecked; fields are checked where they are read. */
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
  bioPolicy: "model_refused",
  misalignmentPolicyViolation: "model_refused",
};

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "model_bad_request",
  401: "model_auth",
  403: "model_auth",
  404: "model_unknown",
  429: "model_rate_limited",
};

/** Name and HTTP status of Codex's code, in either of its two shapes. */
export function nativeCode(info: unknown): { name: string; status?: number } {
  if (typeof info === "string") return { name: info };
  if (typeof info !== "object" || info === null) return { name: "other" };
  const [name = "other", facts] = Object.entries(info)[0] ?? [];
  const status = (facts as { httpStatusCode?: unknown } | null)?.httpStatusCode;
  return typeof status === "number" ? { name, status } : { name };
}

const ADVICE: Partial<Record<ErrorCode, string>> = {
  model_auth: "check the key of its provider or log in with `codex login`, then send the request again",
  model_rate_limited: "wait a while or choose another model, then send the request again",
  model_unavailable: "check the network and the `baseUrl` of its provider, then send the request again",
  model_unknown: "check the name of the model and the `baseUrl` of its provider",
  model_bad_request: "check `api` and `models` of its provider",
};

/** The provider's own message in a body that Codex passes on unchanged; undefined for other text. */
function wordsOfBody(message: string): string | undefined {
  try {
    const body = JSON.parse(message) as { error?: { message?: unknown } | null; message?: unknown } | null;
    const words = body?.error?.message ?? body?.message;
    return typeof words === "string" ? words : undefined;
  } catch {
    return undefined;
  }
}

/** One line without markup: proxies answer with whole pages. */
function reasonOf(message: string): string {
  const plain = (wordsOfBody(message) ?? message)
    .replaceAll(/<(style|script|title)\b[\s\S]*?<\/\1>|<[^<>]*>/gi, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return shortReason(plain);
}

function codeOf(name: string, status: number | undefined, message: string): ErrorCode {
  const byStatus = status === undefined ? undefined : BY_STATUS[status];
  if (byStatus) return byStatus;
  if (/cannot be reached/.test(message)) return "model_unavailable";
  if (name !== "other") return BY_NAME[name] ?? "runtime_failed";
  if (/stream disconnected|stream closed/i.test(message)) return "model_stream_cut";
  // Codex passes on the body when the endpoint has rejected the request.
  return wordsOfBody(message) === undefined ? "runtime_failed" : "model_bad_request";
}

/** Error for the `error` of a failed turn, or of an `error` notification. */
export function turnFailure(error: NativeError | null | undefined): PagurusError {
  const message = typeof error?.message === "string" ? error.message : "it gave no reason";
  const { name, status } = nativeCode(error?.codexErrorInfo);
  const shown = status === undefined ? name : `${name}, HTTP ${status}`;
  const code = codeOf(name, status, message);
  const advice = ADVICE[code] ?? "send the request again";
  return new PagurusError(
    code,
    `Codex ended the turn with an error (${shown}): ${reasonOf(message)} The conversation is kept; ${advice}.`,
    { details: { codexError: name, ...defined({ status }) } },
  );
}
