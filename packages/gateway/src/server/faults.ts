/** The gateway's own failures, in the error format of the client's protocol. */
import { FAULT_STATUS, googleError } from "../dialect/fault-status.ts";
import type { WireFault, WireReply } from "../dialect/wire-dialect.ts";

/** `path` as far as known, without the version: `/messages`. */
export type FaultMaker = (path: string, code: WireFault, message: string) => WireReply;

/** Longest message: a name in it may come from a client, as long as a body may be. */
const MOST_CHARACTERS = 4_000;

/** A request that cannot be read or served; `fault` is the error code for its client. */
export class WireCallError extends Error {
  override readonly name = "WireCallError";
  readonly fault: WireFault;

  constructor(fault: WireFault, message: string) {
    super(message.slice(0, MOST_CHARACTERS));
    this.fault = fault;
  }
}

const ANTHROPIC_TYPES: Partial<Record<WireFault, string>> = {
  unauthorized: "authentication_error",
  not_found: "not_found_error",
  too_large: "request_too_large",
  overloaded: "overloaded_error",
  cost_limit: "billing_error",
  upstream_failed: "api_error",
  internal: "api_error",
};

/** `/v1beta/models/gemini-3-pro:generateContent` */
const GOOGLE_PATH = /^\/v1(?:alpha|beta)\/|^(?:\/v1)?\/models\/[^/]+:/;

function bodyOf(path: string, code: WireFault, message: string): object {
  const status = FAULT_STATUS[code];
  if (path.startsWith("/messages"))
    return { type: "error", error: { type: ANTHROPIC_TYPES[code] ?? "invalid_request_error", message } };
  if (GOOGLE_PATH.test(path)) return googleError(status, message);
  const type = code === "cost_limit" ? "insufficient_quota" : "invalid_request_error";
  return { error: { message, type: status < 500 ? type : "server_error", code } };
}

/** Default without a dialect, chosen by the path: Anthropic's format, Google's, or OpenAI's. */
export const plainFault: FaultMaker = (path, code, message) => ({
  status: FAULT_STATUS[code],
  headers: { "content-type": "application/json", ...(code === "overloaded" ? { "retry-after": "1" } : {}) },
  body: Buffer.from(JSON.stringify(bodyOf(path, code, message))),
});
