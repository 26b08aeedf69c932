/** Retry policy of model calls: which failures are retried, and after what pause. */
import { backOffMs } from "../data/back-off.ts";
import { PagurusError } from "@pagurus/contract/errors";
import type { Failure } from "./model-failure.ts";
import type { RetryOptions } from "./provider-types.ts";

const DEFAULT_ATTEMPTS = 5;
const DEFAULT_BASE_MS = 500;
const DEFAULT_MAX_MS = 60_000;
const DEFAULT_ELAPSED_MS = 300_000;
/** Setting of the elapsed time limit. */
const SETTING = "agents.defaults.retry.maxElapsedSeconds";

/** The retries of one request. */
export class Retries {
  /** Total calls, including the first. */
  readonly attempts: number;
  readonly #baseMs: number;
  readonly #maxMs: number;
  readonly #maxElapsedMs: number;
  readonly #limit: string;
  readonly #key: string;
  readonly #used = new Map<string, number>();
  #firstFailure: number | undefined;

  /** `key` seeds the jitter of the pauses: for example the session's id. */
  constructor(options: RetryOptions = {}, key: string) {
    const unbounded = options.maxElapsedMs !== undefined;
    this.attempts = options.attempts ?? (unbounded ? Number.POSITIVE_INFINITY : DEFAULT_ATTEMPTS);
    this.#baseMs = options.baseMs ?? DEFAULT_BASE_MS;
    this.#maxMs = options.maxMs ?? DEFAULT_MAX_MS;
    this.#maxElapsedMs = options.maxElapsedMs ?? DEFAULT_ELAPSED_MS;
    this.#limit = options.limit ?? SETTING;
    this.#key = key;
  }

  /** Milliseconds until the next call. Throws the failure's error if there is none. */
  pauseAfter(failure: Failure, attempt: number): number {
    const { error, retryAfterMs = 0 } = failure;
    // Counted per kind: refused calls do not use up the retries of cut-off answers.
    const kind = `${error.code} ${failure.retries}`;
    const count = (this.#used.get(kind) ?? 0) + 1;
    this.#used.set(kind, count);
    if (attempt >= this.attempts || count > failure.retries) throw error;
    const now = Date.now();
    this.#firstFailure ??= now;
    const elapsed = now - this.#firstFailure;
    const asked = Math.ceil(retryAfterMs);
    if (asked > 0 && asked > this.#maxElapsedMs - elapsed) throw this.#tooLate(error, now, asked);
    const pause = Math.max(this.#ownPause(attempt), asked);
    if (pause > this.#maxElapsedMs - elapsed) throw this.#gaveUp(error, attempt);
    return pause;
  }

  /**
   * Exponential backoff with a maximum, and a jitter of a quarter to both sides. The jitter comes from the key and the attempt,
   * not from chance, so that many sessions that failed together do not retry together and a run is reproducible.
   */
  #ownPause(attempt: number): number {
    const own = backOffMs(attempt, { firstMs: this.#baseMs, longestMs: this.#maxMs });
    return Math.round(own * (0.75 + 0.5 * fraction(`${this.#key} ${attempt}`)));
  }

  #tooLate(error: PagurusError, now: number, asked: number): PagurusError {
    const until = new Date(now + asked);
    const limit = seconds(this.#maxElapsedMs);
    const more = `it asks to wait until ${timeOfDay(until, new Date(now))} (${seconds(asked)}), and ${this.#limit} allows ${limit}`;
    return extended(error, more, { retryAt: until.toISOString() });
  }

  #gaveUp(error: PagurusError, calls: number): PagurusError {
    const more = `${calls} ${calls === 1 ? "call" : "calls"} failed, and ${this.#limit} allows ${seconds(this.#maxElapsedMs)} for retries`;
    return extended(error, more, { calls });
  }
}

function extended(error: PagurusError, more: string, facts: Record<string, unknown>): PagurusError {
  const message = `${error.message.replace(/\.$/, "")}; ${more}.`;
  return new PagurusError(error.code, message, { details: { ...error.details, ...facts } });
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} s`;
}

/** Local time, as `14:05`; with the date if that is another day. */
function timeOfDay(time: Date, now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  if (time.toDateString() === now.toDateString()) return clock;
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${clock}`;
}

/** FNV-1a hash of a text as a number in [0, 1). */
function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) / 2 ** 32;
}
