/** Options that calls of several kinds share. */
import type { CallOptions } from "./http-requests.ts";

/** `agent`: default `main`. */
export interface AgentOptions extends CallOptions {
  agent?: string | undefined;
}
export interface PageOptions extends AgentOptions {
  limit?: number | undefined;
}
