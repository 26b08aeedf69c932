/** Timeouts for waiting. */
import { PagurusError } from "@pagurus/contract/errors";

/** How long a decision of the governor is waited for after the harness has disconnected, ms. */
const LEFT_MS = 1_000;

/** Resolves with the work, at the deadline or when the signal fires, whichever comes first. */
export async function atMost(work: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  signal?.addEventListener("abort", () => over.resolve(), { once: true });
  try {
    await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The work's outcome; rejects with `turn_aborted` if it does not come within a grace period after the harness has disconnected. */
export async function unlessLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    const error = new PagurusError(
      "turn_aborted",
      "The harness disconnected before its request was decided on.",
    );
    timer = setTimeout(() => left.reject(error), LEFT_MS);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  // Ignores a failure after the wait was given up.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, left.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
