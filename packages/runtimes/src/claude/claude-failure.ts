/** Maps the result lines of failed turns to our errors and keeps Claude Code's own code. */
import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import { countOf, type Fields, stringOf } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";
import { shortReason } from "../thread/thread-harness.ts";

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "model_bad_request",
  401: "model_auth",
  403: "model_auth",
  404: "model_unknown",
  413: "context_overflow",
  429: "model_rate_limited",
};

const BY_NAME: Readonly<Record<string, ErrorCode>> = {
  authentication_failed: "model_auth",
  billing_error: "model_rate_limited",
  rate_limit: "model_rate_limited",
  model_not_found: "model_unknown",
  overloaded: "model_unavailable",
  connection_failed: "model_unavailable",
  server_error: "model_unavailable",
};

const ADVICE: Partial<Record<ErrorCode, string>> = {
  model_auth: "check the key of its provider, then send the request again",
  model_rate_limited: "wait a while or choose another model, then send the request again",
  model_unavailable: "check the network and the `baseUrl` of its provider, then send the request again",
  model_unknown: "check the name of the model and the `baseUrl` of its provider",
  model_bad_request: "check `api` and `models` of its provider",
  model_refused: "rephrase the request",
};

/** Whether a result says that the context exceeds the limit of the model or of Claude Code. */
function isTooLong(result: Fields): boolean {
  const { terminal_reason: reason } = result;
  return (
    reason === "prompt_too_long" ||
    reason === "blocking_limit" ||
    /prompt is too long/i.test(stringOf(result["result"]))
  );
}

function codeOf(result: Fields, message: string, wasCut: boolean): ErrorCode {
  if (isTooLong(result)) return "context_overflow";
  if (result["stop_reason"] === "refusal") return "model_refused";
  const status = countOf(result["api_error_status"]);
  const byStatus = status === undefined ? undefined : BY_STATUS[status];
  if (byStatus) return byStatus;
  if (status !== undefined && status >= 500) return "model_unavailable";
  if (wasCut || /mid-response|stream|incomplete|idle timeout|was lost|ECONNRESET/i.test(message))
    return "model_stream_cut";
  return BY_NAME[stringOf(result["api_error"]) || stringOf(result["error"])] ?? "runtime_failed";
}

/** One line, without Claude Code's own prefix. */
function reasonOf(message: string): string {
  const plain =
    message
      .replace(/^API Error: /, "")
      .replaceAll(/\s+/g, " ")
      .trim() || "it gave no reason";
  return shortReason(plain);
}

/** Error for the `result` of a failed turn. `wasCut`: part of an answer had arrived before the retry. */
export function turnFailure(result: Fields, wasCut = false): PagurusError {
  const errors = Array.isArray(result["errors"]) ? result["errors"].map(stringOf) : [];
  const message = stringOf(result["result"]) || errors.join("; ");
  const code = codeOf(result, message, wasCut);
  const status = countOf(result["api_error_status"]);
  const name = stringOf(result["terminal_reason"]) || stringOf(result["subtype"]) || "unknown";
  const shown = status === undefined ? name : `${name}, HTTP ${status}`;
  return new PagurusError(
    code,
    `Claude Code ended the turn with an error (${shown}): ${reasonOf(message)} The conversation is kept; ${ADVICE[code] ?? "send the request again"}.`,
    { details: { claudeError: name, ...defined({ status }) } },
  );
}

/** The key was refused: a retry with the same key would only delay the error. */
export function isRefusedKey(retry: Fields): boolean {
  const status = countOf(retry["error_status"]);
  return status === 401 || status === 403;
}

/** Converts a retry that is not waited for into the result that it would end with. */
export function asResult(retry: Fields): Fields {
  return {
    terminal_reason: "api_error",
    api_error_status: retry["error_status"],
    result: `the key was refused (${stringOf(retry["error"]) || "no reason"})`,
  };
}
