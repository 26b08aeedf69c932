/**
 * Events that are followed as long as the page lasts: what is lost is begun again, and a hidden page follows none.
 */
import type { ServerEvent } from "@pagurus/api/types";
import { ClientError } from "@pagurus/client/index";

/** Pause before a lost server is tried again, ms. */
const AGAIN_MS = 1_500;

/** Resolves when the page is seen; rejects with the signal's reason when it fires before. */
export function seen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
    };
    const look = (): void => {
      if (signal.aborted) reject(signal.reason as Error);
      else if (document.visibilityState === "visible") resolve();
      else return;
      end();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/** Fires with the signal, or when the page is hidden; the caller ends it. */
export function untilHidden(signal: AbortSignal): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const look = (): void => {
    if (document.visibilityState === "hidden") controller.abort();
  };
  document.addEventListener("visibilitychange", look);
  look();
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    end: () => document.removeEventListener("visibilitychange", look),
  };
}

/** Resolves after a moment; also when the page is seen again meanwhile. */
export function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
}

/** Whether the server was not reached, or is busy: it is asked again. */
export function isAway(error: unknown): boolean {
  return error instanceof ClientError && (error.status === 0 || error.status === 429 || error.status >= 502);
}

/** Each event once, until the stream has its last one. Throws where the server refuses, and the signal's reason. */
export async function* lastingEvents(
  begin: (after: number, signal: AbortSignal) => AsyncGenerator<ServerEvent>,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  for (let after = 0; ;) {
    await seen(signal);
    const shown = untilHidden(signal);
    try {
      for await (const event of begin(after, shown.signal)) {
        after = event.id;
        yield event;
      }
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!shown.signal.aborted && !isAway(error)) throw error;
    } finally {
      shown.end();
    }
    if (document.visibilityState === "visible") await aMoment();
  }
}
