import { MalformedAnswer, StreamCut } from "./failure.ts";

/** A local server may compute long before its first byte. With the default this is the runtime's own limit, 300 s. */
const FIRST_BYTE_FACTOR = 2.5;

/** After its last event a server should close; a connection is reused only if it does so in time. */
const CLOSE_GRACE_MS = 500;

export interface WatchedFetch {
  fetch: typeof globalThis.fetch;
  /** Set once the watch has ended the request because nothing came. */
  cut(): StreamCut | undefined;
  /** The last event was read: the server has a moment to close, after that we do. */
  finishing(): void;
  /** Stops the clock and closes the connection if it is still open. */
  end(): void;
}

/**
 * A `fetch` whose connection is closed when no byte arrives for `idleMs`, or when `signal` fires. The byte stream is
 * watched, not the parsed events: a server that sends keep-alive comments while its model thinks is alive.
 */
export function watchedFetch(signal: AbortSignal, idleMs: number): WatchedFetch {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  let cut: StreamCut | undefined;
  const arm = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      cut = new StreamCut(`nothing came from the server for ${Math.round(ms / 1_000)} s`, { idle: true });
      controller.abort(cut);
    }, ms);
  };
  const stop = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  };
  return {
    async fetch(input, init) {
      arm(idleMs * FIRST_BYTE_FACTOR);
      const response = await globalThis.fetch(input, { ...init, signal: controller.signal });
      if (response.ok && response.headers.get("content-type")?.startsWith("text/html")) {
        throw new MalformedAnswer("the server answered with a web page");
      }
      if (!response.body) return response;
      const watch = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, out) {
          arm(idleMs);
          out.enqueue(chunk);
        },
        flush: () => clearTimeout(timer),
      });
      return new Response(response.body.pipeThrough(watch), {
        status: response.status,
        statusText: response.statusText,
        headers: response.headers,
      });
    },
    cut: () => cut,
    finishing: () => arm(Math.min(CLOSE_GRACE_MS, idleMs)),
    end() {
      stop();
      controller.abort();
    },
  };
}
