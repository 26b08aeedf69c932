/** Interface of the endpoints that answer a request, and of their answers. */
import type { Readable } from "node:stream";
import type { Dialect, WireRequest } from "../dialect/wire-dialect.ts";

/** Maximum attempts, including the first, while nothing of an answer has come. A harness and a client try again on their own. */
export const ATTEMPTS = 3;

export interface UpstreamRequest {
  method: string;
  /** Path after the base URL, with its query: `/responses`, `/v1/messages?beta=true` is `/messages?beta=true`. */
  path: string;
  /** Unchanged, as alternating names and values; the upstream removes those of the gateway and the connection. */
  rawHeaders: readonly string[];
  /** Parts in the order in which they are sent. */
  body: readonly Buffer[];
  /** The parsed request, before anything was replaced; undefined for an unknown one, and for one that is read afterwards. */
  read: WireRequest | undefined;
  dialect: Dialect;
  signal: AbortSignal;
}

export interface UpstreamAnswer {
  status: number;
  /** Alternating names and values, unchanged, without those of the connection. */
  rawHeaders: string[];
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Stream of the body. An error means a cut. */
  stream: Readable;
}

export interface Upstream {
  /** For the log: host and port, or the model's ref. */
  readonly label: string;
  /** Its own credentials, which must not be in captures. */
  readonly secrets?: readonly string[];
  /** The endpoint diagnoses cache misses, and the request may ask for it: `hasKey` is false for a login by subscription. */
  diagnosesCache?(hasKey: boolean): boolean;
  /** Resolves at the head of the answer. Throws `PagurusError` `model_unavailable`, `turn_aborted`. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
}
