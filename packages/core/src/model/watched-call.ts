import { AnswerBytes } from "./answer-bytes.ts";
import { type HttpAnswer, type HttpRequest, postHttp } from "./http-post.ts";
import { LONGEST_TIMER_MS } from "../platform/deadline.ts";
import { MalformedAnswer, RedirectRefused, StreamCut } from "./model-failure.ts";
import type { AnswerLimits, CallObserver } from "./provider-types.ts";

/** A local server may compute long before its first byte. With the default this equals the runtime's own limit, 300 s. */
const FIRST_BYTE_FACTOR = 2.5;

/** After its last event a server should close; a connection is reused only if it does so in time. */
const CLOSE_GRACE_MS = 2_000;

export interface CallWatch {
  /** Posts the request. `onSent` is called when all of it is sent. */
  post(request: HttpRequest, onSent?: () => void): Promise<HttpAnswer>;
  /** The bytes of an answer as they come. */
  bytes(answer: HttpAnswer): AsyncGenerator<Uint8Array>;
  /** Why the watch ended the request: a timeout, or a size limit. */
  stopped(): Error | undefined;
  /** New content arrived: restarts the content timeout. */
  progress(): void;
  /** A sign of the end was read: counts may follow, and the server has a moment to close, then we do. */
  finishing(): void;
  /** Stops the timers and closes the connection if it is still open. */
  end(): void;
}

/**
 * Watches one model call. Its connection is closed when `signal` aborts, when no byte arrives for `silenceMs`, when no
 * content arrives for `idleMs` (keep-alive comments are bytes but no content), and when an answer or an event exceeds its
 * limit. It follows no redirect: headers and body contain credentials and the conversation, and are for the configured endpoint
 * alone. `observer` is called with what is sent and received.
 */
export function watchCall(signal: AbortSignal, limits: AnswerLimits, observer?: CallObserver): CallWatch {
  const timers = new CallTimers(signal, limits);
  return {
    async post(request, onSent) {
      timers.armSilence(limits.silenceMs * FIRST_BYTE_FACTOR);
      timers.armIdle();
      observer?.sent(request);
      const answer = await postHttp(request, timers.signal, onSent);
      observer?.answered(answer);
      refuseOther(answer, request.url);
      return answer;
    },
    async *bytes({ body }) {
      const count = new AnswerBytes(limits);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        timers.armSilence(limits.silenceMs);
        observer?.chunk(chunk);
        try {
          count.take(chunk);
        } catch (error) {
          timers.stop(error as Error);
          throw error;
        }
        yield chunk;
      }
      timers.isOver = true;
    },
    stopped: () => timers.stopped,
    progress: () => timers.armIdle(),
    finishing: () => timers.armSilence(Math.min(CLOSE_GRACE_MS, limits.silenceMs)),
    end: () => timers.end(),
  };
}

/** The connection of a call, and the timers that close it. */
class CallTimers {
  stopped: Error | undefined;
  /** The answer has come to its end, and its connection may be used again. */
  isOver = false;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #limits: AnswerLimits;
  #silence: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(outer: AbortSignal, limits: AnswerLimits) {
    this.#outer = outer;
    this.#limits = limits;
    if (outer.aborted) this.#onAbort();
    else outer.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly #onAbort = (): void => this.#controller.abort(this.#outer.reason);

  stop(why: Error): void {
    this.stopped ??= why;
    this.#controller.abort(this.stopped);
  }

  armSilence(ms: number): void {
    clearTimeout(this.#silence);
    this.#silence = this.#cutAfter("nothing came from the server", ms);
  }

  armIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = this.#cutAfter("nothing but keep-alive came from the server", this.#limits.idleMs);
  }

  #cutAfter(what: string, ms: number): NodeJS.Timeout {
    const cut = (): void =>
      this.stop(new StreamCut(`${what} for ${Math.round(ms / 1_000)} s`, { idle: true }));
    return setTimeout(cut, Math.min(ms, LONGEST_TIMER_MS));
  }

  end(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#idle);
    this.#outer.removeEventListener("abort", this.#onAbort);
    if (!this.isOver) this.#controller.abort();
  }
}

/** Refuses a web page, and a redirect, whose error names only the target's origin; path and query may contain secrets. */
function refuseOther({ status, headers }: HttpAnswer, base: string): void {
  if (status < 300 && headers["content-type"]?.startsWith("text/html"))
    throw new MalformedAnswer("the server answered with a web page");
  if (status < 300 || status > 399) return;
  const { location } = headers;
  const target =
    location !== undefined && URL.canParse(location, base) ? new URL(location, base).origin : undefined;
  throw new RedirectRefused(status, target);
}
