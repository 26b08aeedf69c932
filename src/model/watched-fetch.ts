import { AnswerBytes } from "./answer-bytes.ts";
import { LONGEST_TIMER_MS } from "../platform/deadline.ts";
import { MalformedAnswer, RedirectRefused, StreamCut } from "./model-failure.ts";
import type { AnswerLimits, CallObserver } from "./provider-types.ts";

/** A local server may compute long before its first byte. With the default this equals the runtime's own limit, 300 s. */
const FIRST_BYTE_FACTOR = 2.5;

/** After its last event a server should close; a connection is reused only if it does so in time. */
const CLOSE_GRACE_MS = 500;

/** The watch of a call, by the signal that its package passes to `fetch`. */
const watches = new WeakMap<AbortSignal, typeof globalThis.fetch>();

/** The `fetch` of all calls: each goes through the watch of its signal. Throws `TypeError` for a call without one. */
export const watchedFetch: typeof globalThis.fetch = async (input, init) => {
  const watched = init?.signal ? watches.get(init.signal) : undefined;
  if (!watched) throw new TypeError("A model call has no watch; call `watchCall` and pass its signal.");
  return watched(input, init);
};

export interface CallWatch {
  /** For the call's options. */
  signal: AbortSignal;
  /** Why the watch ended the request: a timeout, or a size limit. */
  stopped(): Error | undefined;
  /** New content arrived: restarts the content timeout. */
  progress(): void;
  /** The last event was read: the server has a moment to close, then we do. */
  finishing(): void;
  /** Stops the timers and closes the connection if it is still open. */
  end(): void;
}

/**
 * Watches one model call. Its connection is closed when `signal` aborts, when no byte arrives for `silenceMs`, when no
 * content arrives for `idleMs` (keep-alive comments are bytes but no content), and when an answer or an event exceeds its
 * limit. It follows no redirect: headers and body contain credentials and the conversation, and are for the configured endpoint
 * alone. `edit` is called with the request's body; `observer` with what is sent and received.
 */
export function watchCall(
  signal: AbortSignal,
  limits: AnswerLimits,
  edit?: (body: string) => string,
  observer?: CallObserver,
): CallWatch {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  let silence: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;
  let stopped: Error | undefined;
  const stop = (why: Error): void => {
    stopped ??= why;
    controller.abort(stopped);
  };
  const cutAfter = (what: string, ms: number): NodeJS.Timeout =>
    setTimeout(
      () => stop(new StreamCut(`${what} for ${Math.round(ms / 1_000)} s`, { idle: true })),
      Math.min(ms, LONGEST_TIMER_MS),
    );
  const armSilence = (ms: number): void => {
    clearTimeout(silence);
    silence = cutAfter("nothing came from the server", ms);
  };
  const armIdle = (): void => {
    clearTimeout(idle);
    idle = cutAfter("nothing but keep-alive came from the server", limits.idleMs);
  };
  watches.set(controller.signal, async (input, init) => {
    armSilence(limits.silenceMs * FIRST_BYTE_FACTOR);
    armIdle();
    const body = edit && typeof init?.body === "string" ? { body: edit(init.body) } : {};
    observer?.sent(input, { ...init, ...body });
    const response = await globalThis.fetch(input, {
      ...init,
      ...body,
      redirect: "manual",
      signal: controller.signal,
    });
    observer?.answered(response);
    refuseOther(response, input);
    if (!response.body) return response;
    const bytes = new AnswerBytes(limits);
    const watch = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        armSilence(limits.silenceMs);
        observer?.chunk(chunk);
        try {
          bytes.take(chunk);
        } catch (error) {
          stop(error as Error);
          throw error;
        }
        out.enqueue(chunk);
      },
      flush: () => clearTimeout(silence),
    });
    return new Response(response.body.pipeThrough(watch), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  });
  return {
    signal: controller.signal,
    stopped: () => stopped,
    progress: armIdle,
    finishing: () => armSilence(Math.min(CLOSE_GRACE_MS, limits.silenceMs)),
    end() {
      clearTimeout(silence);
      clearTimeout(idle);
      signal.removeEventListener("abort", onAbort);
      controller.abort();
    },
  };
}

/** Refuses a web page, and a redirect, whose error names only the target's origin; path and query may contain secrets. */
function refuseOther({ ok, status, headers }: Response, input: string | URL | Request): void {
  if (ok && headers.get("content-type")?.startsWith("text/html"))
    throw new MalformedAnswer("the server answered with a web page");
  if (status < 300 || status > 399) return;
  const base = input instanceof Request ? input.url : String(input);
  const location = headers.get("location");
  const target =
    location !== null && URL.canParse(location, base) ? new URL(location, base).origin : undefined;
  throw new RedirectRefused(status, target);
}
