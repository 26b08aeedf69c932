/** Where a request is answered, and what comes back. */
import type { Readable } from "node:stream";
import type { Dialect, WireRequest } from "../dialect/dialect.ts";

export interface UpstreamRequest {
  method: string;
  /** Behind the base URL, with its query: `/responses`, `/v1/messages?beta=true` is `/messages?beta=true`. */
  path: string;
  /** As they came, names and values by turns; those of the gateway and of the connection are left out on the way. */
  rawHeaders: readonly string[];
  /** In the order in which it is sent. */
  body: readonly Buffer[];
  /** The request as it was read, before anything was replaced; undefined for one that is not known. */
  read: WireRequest | undefined;
  dialect: Dialect;
  signal: AbortSignal;
}

export interface UpstreamAnswer {
  status: number;
  /** Names and values by turns, as they came; those of the connection are left out. */
  rawHeaders: string[];
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Of the body. An error of it is a cut. */
  stream: Readable;
}

export interface Upstream {
  /** For the log: host and port, or the model's ref. */
  readonly label: string;
  /** Values of its own credentials, to be kept out of captures. */
  readonly secrets?: readonly string[];
  /** Resolves at the head of the answer. Throws `PagurusError` `model_unavailable`, `turn_aborted`. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
}
