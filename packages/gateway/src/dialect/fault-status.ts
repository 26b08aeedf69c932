/** HTTP statuses of the gateway's own failures, and errors in Google's format. */
import type { WireFault } from "./wire-dialect.ts";

export const FAULT_STATUS: Readonly<Record<WireFault, number>> = {
  bad_request: 400,
  unauthorized: 401,
  not_found: 404,
  too_large: 413,
  overloaded: 503,
  context_overflow: 400,
  // Clients repeat a request after 429.
  cost_limit: 402,
  upstream_failed: 502,
  internal: 500,
};
/** Names of Google's errors by HTTP status. */
const GOOGLE_NAMES: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
};

export function googleError(status: number, message: string): object {
  return { error: { code: status, message, status: GOOGLE_NAMES[status] ?? "INVALID_ARGUMENT" } };
}
