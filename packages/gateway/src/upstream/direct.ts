/**
 * Upstream that sends requests to the provider's own endpoint and passes the answer back, byte for byte. Refuses redirects, does not
 * decompress, and ignores the HTTP proxy variables of the environment.
 */
import { backOffMs } from "@pagurus/core/data/back-off";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { stringOf } from "@pagurus/core/data/record-fields";
import { sleep } from "@pagurus/core/platform/deadline";
import { diagnosesAt } from "@pagurus/core/model/quirks/cache-diagnosis";
import { directAgents, type DirectAgents } from "./direct-agents.ts";
import { AttemptError, attemptOnce, type Attempt } from "./direct-attempt.ts";
import { DirectTarget } from "./direct-request.ts";
import type { Upstream, UpstreamAnswer, UpstreamRequest } from "./upstream.ts";

export { directAgents, type DirectAgents } from "./direct-agents.ts";

const CONNECT_MS = 30_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 20_000;
/** Longest pause that a server may request, ms: three times our own; an answer that requests more is passed on. */
const LONGEST_ASKED_MS = 3 * LONGEST_PAUSE_MS;

export interface DirectOptions {
  /** Including its version path. */
  baseUrl: string;
  /** Credentials of the host's configuration: if there are any, those of the harness are removed. */
  headers?: Readonly<Record<string, string>>;
  /** The endpoint is from the host's configuration: the harness's credentials are not sent, even if it needs none. */
  isHosts?: boolean;
  /** Values that must not be in captures. */
  secrets?: readonly string[];
  label: string;
  /** The endpoint diagnoses cache misses. Default: by its address. */
  diagnosesCache?: boolean;
  /** Maximum attempts, each before the first byte of an answer. Default 1. */
  attempts?: number;
  /** Shared between upstreams; their creator closes them. Default: own agents. */
  agents?: DirectAgents;
  connectMs?: number;
  /** Pause before the second attempt, ms; doubled for each further one. */
  pauseMs?: number;
}

/** The pause that the answer requests, ms; undefined if it is not retryable. */
function askedPause({ status, headers }: UpstreamAnswer, pauseMs: number): number | undefined {
  const asked = headers["retry-after"];
  const seconds = typeof asked === "string" ? Number(asked) : Number.NaN;
  const isAsked = Number.isFinite(seconds) && seconds >= 0;
  if (status !== 502 && status !== 503 && status !== 504 && !(status === 429 && isAsked)) return undefined;
  const ms = isAsked ? Math.max(seconds * 1_000, pauseMs) : pauseMs;
  return ms > LONGEST_ASKED_MS ? undefined : ms;
}

class DirectUpstream implements Upstream {
  readonly label: string;
  readonly secrets: readonly string[];
  readonly #target: DirectTarget;
  readonly #agents: DirectAgents;
  readonly #attempts: number;
  readonly #connectMs: number;
  readonly #pauseMs: number;
  readonly #diagnoses: boolean;

  constructor(options: DirectOptions) {
    this.label = options.label;
    this.secrets = options.secrets ?? [];
    const { headers = {}, isHosts = Object.keys(headers).length > 0 } = options;
    this.#target = new DirectTarget(upstreamUrl(options.baseUrl), headers, isHosts);
    this.#agents = options.agents ?? directAgents();
    this.#attempts = Math.max(1, options.attempts ?? 1);
    this.#connectMs = options.connectMs ?? CONNECT_MS;
    this.#pauseMs = options.pauseMs ?? FIRST_PAUSE_MS;
    this.#diagnoses = options.diagnosesCache ?? diagnosesAt(options.baseUrl);
  }

  diagnosesCache(hasKey: boolean): boolean {
    return this.#diagnoses && (hasKey || this.#target.isHosts);
  }

  async send(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const attempt: Attempt = {
      url: this.#target.url,
      method: request.method,
      path: this.#target.pathAt(request.path),
      headers: this.#target.headersFor(request),
      body: request.body,
      agents: this.#agents,
      isFresh: false,
      connectMs: this.#connectMs,
      signal: request.signal,
    };
    try {
      return await this.#tried(attempt);
    } catch (error) {
      throw this.#failure(error, request.signal);
    }
  }

  async #tried(attempt: Attempt): Promise<UpstreamAnswer> {
    for (let tries = 1; ; tries++) {
      const isLast = tries >= this.#attempts;
      let pause = backOffMs(tries, { firstMs: this.#pauseMs, longestMs: LONGEST_PAUSE_MS });
      try {
        const answer = await renewed(attempt);
        if (isRedirect(answer)) throw this.#redirected(answer);
        const asked = isLast ? undefined : askedPause(answer, pause);
        if (asked === undefined) return answer;
        answer.stream.destroy();
        pause = asked;
      } catch (error) {
        if (isLast || attempt.signal.aborted || isPagurusError(error)) throw error;
      }
      await sleep(pause, attempt.signal);
    }
  }

  /** Passed on, it would make the harness send its credentials, and the route's secret, to another address. */
  #redirected({ status, headers, stream }: UpstreamAnswer): PagurusError {
    stream.destroy();
    const { host } = this.#target.url;
    const to = URL.parse(stringOf(headers["location"]), this.#target.url.href)?.host ?? "another address";
    return new PagurusError(
      "model_unavailable",
      `The model's endpoint at ${host} redirects to ${to}, which is not followed, since the request carries credentials; correct the base URL.`,
      { details: { status } },
    );
  }

  #failure(error: unknown, signal: AbortSignal): PagurusError {
    if (isPagurusError(error)) return error;
    if (signal.aborted)
      return new PagurusError("turn_aborted", "The request to the model was aborted.", { cause: error });
    const code = error instanceof AttemptError ? error.code : "no code";
    const where = this.#target.url.host;
    return new PagurusError(
      "model_unavailable",
      `The model's endpoint at ${where} did not answer (${code}); check that it runs and that the base URL is right.`,
      { cause: error, details: { code } },
    );
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function isRedirect({ status, headers }: UpstreamAnswer): boolean {
  return REDIRECTS.has(status) && headers["location"] !== undefined;
}

/** A kept connection may be closed while the request is on its way: it is sent once more, on a new one. */
async function renewed(attempt: Attempt): Promise<UpstreamAnswer> {
  try {
    return await attemptOnce(attempt);
  } catch (error) {
    if (!(error instanceof AttemptError && error.isStale) || attempt.signal.aborted) throw error;
    return attemptOnce({ ...attempt, isFresh: true });
  }
}

function upstreamUrl(baseUrl: string): URL {
  const url = URL.parse(baseUrl);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new PagurusError(
    "config_invalid",
    "The base URL of the model's endpoint is no http or https address; correct it in the configuration.",
  );
}

/** Throws `config_invalid`. */
export function directUpstream(options: DirectOptions): Upstream {
  return new DirectUpstream(options);
}
