/** Requests to one server: address, token, errors, and repetition of those that may be repeated. */
import { defined } from "@pagurus/core/data/defined";
import { backOffMs } from "@pagurus/core/data/back-off";
import { ClientError, errorOf } from "./client-error.ts";

export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:7117`. */
  url: string;
  /** A token, or the login of a browser. A function is called for each request. */
  token?: string | (() => string | undefined) | undefined;
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** How long a lost connection is tried again, ms; default 60,000. */
  retryMs?: number | undefined;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface HttpCall extends CallOptions {
  method: "GET" | "POST" | "DELETE";
  /** Below `/api/v1`, each part encoded. */
  path: string;
  query?: Readonly<Record<string, string | number | undefined>> | undefined;
  body?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Whether it may be sent again without an answer; default: for GET. */
  repeats?: boolean | undefined;
}

const RETRY_MS = 60_000;
const PAUSES = { firstMs: 100, longestMs: 5_000 };
/** The server is busy, restarts, or is not reached by a proxy. */
const PASSING = new Set([429, 502, 503, 504]);

/** Resolves after a time; rejects with the signal's reason when it fires. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Pauses between tries, and the end of trying. */
export class Tries {
  readonly #retryMs: number;
  readonly #signal: AbortSignal | undefined;
  #failingSince: number | undefined;
  #failures = 0;

  constructor(retryMs: number, signal: AbortSignal | undefined) {
    this.#retryMs = retryMs;
    this.#signal = signal;
  }

  /** It answers again; pauses stay, as it may still send nothing. */
  connected(): void {
    this.#failingSince = undefined;
  }

  succeeded(): void {
    this.#failingSince = undefined;
    this.#failures = 0;
  }

  /** Waits before the next try. Throws the error when there was none that succeeded for too long, or it is final. */
  async failed(error: unknown): Promise<void> {
    this.#signal?.throwIfAborted();
    if (!(error instanceof ClientError) || (error.status !== 0 && !PASSING.has(error.status))) throw error;
    this.#failingSince ??= performance.now();
    if (performance.now() - this.#failingSince >= this.#retryMs) throw error;
    this.#failures += 1;
    await pause(backOffMs(this.#failures, PAUSES), this.#signal);
  }
}

export class HttpRequests {
  readonly #base: string;
  readonly #options: ClientOptions;
  readonly retryMs: number;

  constructor(options: ClientOptions) {
    this.#base = `${options.url.replace(/\/+$/, "")}/api/v1`;
    this.#options = options;
    this.retryMs = options.retryMs ?? RETRY_MS;
  }

  /** One try. Throws `ClientError`, or the signal's reason. */
  async once({ method, path, query = {}, body, headers, signal }: HttpCall): Promise<Response> {
    const { token, fetch = globalThis.fetch } = this.#options;
    const values = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(
      values.map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const secret = typeof token === "function" ? token() : token;
    let answer: Response;
    try {
      answer = await fetch(`${this.#base}${path}${search === "" ? "" : `?${search}`}`, {
        method,
        headers: {
          ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...defined({ signal }),
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw this.lost(cause);
    }
    if (answer.ok) return answer;
    throw await errorOf(answer);
  }

  /** Sends until there is an answer, and reads it. Throws `ClientError`, or the signal's reason. */
  async #answered<T>(call: HttpCall, read: (answer: Response) => Promise<T>): Promise<T> {
    const { method, signal, repeats = method === "GET" } = call;
    const tries = new Tries(repeats ? this.retryMs : 0, signal);
    for (;;) {
      try {
        const answer = await this.once(call);
        return await read(answer).catch((cause: unknown) => {
          throw this.lost(cause);
        });
      } catch (error) {
        await tries.failed(error);
      }
    }
  }

  /** The error of a connection that could not be made, or broke. */
  lost(cause: unknown): ClientError {
    const message = `The server at ${this.#options.url} does not answer; check its address, and that it runs.`;
    return new ClientError("server_failed", message, { cause });
  }

  json<T>(call: HttpCall): Promise<T> {
    return this.#answered(call, async (answer) => (await answer.json()) as T);
  }
}
