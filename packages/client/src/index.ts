/** `pagurus/client`: a client of a Pagurus server, for browsers too. */
import { PagurusClient } from "./client.ts";
import type { ClientOptions } from "./http-requests.ts";

/** A client of one server; connects at the first call. */
export function createClient(options: ClientOptions): PagurusClient {
  return new PagurusClient(options);
}

export type { PagurusClient } from "./client.ts";
export type { FollowOptions, PostOptions } from "./client.ts";
export type { AgentOptions, PageOptions } from "./call-options.ts";
export type { BeforeOptions, FromOptions, InspectCalls } from "./inspect-calls.ts";
export type { CallOptions, ClientOptions } from "./http-requests.ts";
export type { PlaceOptions, TerminalCalls } from "./terminal-calls.ts";
export type { JobCalls } from "./job-calls.ts";
export { ClientError } from "./client-error.ts";
export type * from "@pagurus/api/types";
