/** How Claude Code ends a turn, as ours: its result lines, with its own code kept. */
import { PagurusError, type ErrorCode } from "../../contract/errors.ts";
import { count, text, type Fields } from "./fields.ts";

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
  model_refused: "say it in another way",
};
const MOST_REASON_CHARACTERS = 300;

/** Whether a result says that the context is longer than the model, or Claude Code, takes. */
function isTooLong(result: Fields): boolean {
  const { terminal_reason: reason } = result;
  return (
    reason === "prompt_too_long" ||
    reason === "blocking_limit" ||
    /prompt is too long/i.test(text(result["result"]))
  );
}

function codeOf(result: Fields, said: string, wasCut: boolean): ErrorCode {
  if (isTooLong(result)) return "context_overflow";
  if (result["stop_reason"] === "refusal") return "model_refused";
  const status = count(result["api_error_status"]);
  const byStatus = status === undefined ? undefined : BY_STATUS[status];
  if (byStatus) return byStatus;
  if (status !== undefined && status >= 500) return "model_unavailable";
  if (wasCut || /mid-response|stream|incomplete|idle timeout|was lost|ECONNRESET/i.test(said))
    return "model_stream_cut";
  return BY_NAME[text(result["api_error"]) || text(result["error"])] ?? "runtime_failed";
}

/** In one line, without Claude Code's own prefix. */
function reasonOf(said: string): string {
  const plain =
    said
      .replace(/^API Error: /, "")
      .replaceAll(/\s+/g, " ")
      .trim() || "it gave no reason";
  const cut = plain.length > MOST_REASON_CHARACTERS ? `${plain.slice(0, MOST_REASON_CHARACTERS)}…` : plain;
  return cut.replace(/\.?$/, ".");
}

/** `result` of a turn that failed. `wasCut`: part of an answer had come when it was asked for again. */
export function turnFailure(result: Fields, wasCut = false): PagurusError {
  const errors = Array.isArray(result["errors"]) ? result["errors"].map(text) : [];
  const said = text(result["result"]) || errors.join("; ");
  const code = codeOf(result, said, wasCut);
  const status = count(result["api_error_status"]);
  const name = text(result["terminal_reason"]) || text(result["subtype"]) || "unknown";
  const shown = status === undefined ? name : `${name}, HTTP ${status}`;
  return new PagurusError(
    code,
    `Claude Code ended the turn with an error (${shown}): ${reasonOf(said)} The conversation is kept; ${ADVICE[code] ?? "send the request again"}.`,
    { details: { claudeError: name, ...(status === undefined ? {} : { status }) } },
  );
}

/** The key was refused: asking again with the same one makes a user wait for nothing. */
export function isRefusedKey(retry: Fields): boolean {
  const status = count(retry["error_status"]);
  return status === 401 || status === 403;
}

/** A retry that is not waited for, as the result that it would end with. */
export function asResult(retry: Fields): Fields {
  return {
    terminal_reason: "api_error",
    api_error_status: retry["error_status"],
    result: `the key was refused (${text(retry["error"]) || "no reason given"})`,
  };
}
