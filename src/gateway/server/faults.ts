/** The gateway's own failures, in the error format of the client's protocol. */
import type { WireFault, WireReply } from "../dialect/wire-dialect.ts";

/** `path` as far as known, without the version: `/messages`. */
export type FaultMaker = (path: string, code: WireFault, message: string) => WireReply;

/** A request that cannot be read or served; `fault` is the error code for its client. */
export class WireCallError extends Error {
  override readonly name = "WireCallError";
  readonly fault: WireFault;

  constructor(fault: WireFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

const STATUS: Record<WireFault, number> = {
  bad_request: 400,
  unauthorized: 401,
  not_found: 404,
  too_large: 413,
  overloaded: 503,
  context_overflow: 400,
  upstream_failed: 502,
  internal: 500,
};

const ANTHROPIC_TYPES: Partial<Record<WireFault, string>> = {
  unauthorized: "authentication_error",
  not_found: "not_found_error",
  too_large: "request_too_large",
  overloaded: "overloaded_error",
  upstream_failed: "api_error",
  internal: "api_error",
};

/** Default without a dialect, chosen by the path: `/messages` in Anthropic's format, all else in OpenAI's. */
export const plainFault: FaultMaker = (path, code, message) => {
  const body = path.startsWith("/messages")
    ? { type: "error", error: { type: ANTHROPIC_TYPES[code] ?? "invalid_request_error", message } }
    : { error: { message, type: STATUS[code] < 500 ? "invalid_request_error" : "server_error", code } };
  return {
    status: STATUS[code],
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(body)),
  };
};
