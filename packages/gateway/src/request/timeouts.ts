/** Timeouts for waiting. */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import { PagurusError } from "@pagurus/contract/errors";

/** How long a decision of the governor is waited for after the harness has disconnected, ms. */
const LEFT_MS = 1_000;

/** Resolves with the work, at the deadline or when the signal fires, whichever comes first. */
export async function atMost(
  work: Promise<unknown>,
  ms: number,
  signal?: AbortSignal,
  clock: Clock = SYSTEM_CLOCK,
): Promise<void> {
  if (signal?.aborted) return;
  const over = Promise.withResolvers<void>();
  const cancel = clock.after(ms, over.resolve);
  signal?.addEventListener("abort", () => over.resolve(), { once: true });
  try {
    await Promise.race([work, over.promise]);
  } finally {
    cancel();
  }
}

/** The work's outcome; rejects with `turn_aborted` if it does not come within a grace period after the harness has disconnected. */
export async function unlessLeft<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock = SYSTEM_CLOCK,
): Promise<T> {
  const left = Promise.withResolvers<never>();
  let cancel: (() => void) | undefined;
  const onAbort = (): void => {
    const error = new PagurusError(
      "turn_aborted",
      "The harness disconnected before its request was decided on.",
    );
    cancel = clock.after(LEFT_MS, () => left.reject(error));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  // Ignores a failure after the wait was given up.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, left.promise]);
  } finally {
    cancel?.();
    signal.removeEventListener("abort", onAbort);
  }
}
