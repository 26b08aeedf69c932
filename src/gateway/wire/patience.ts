/** How long something is waited for. */
import { PagurusError } from "../../contract/errors.ts";

/** How long the governor's word is waited for when the harness has left, ms. */
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

/** The work's outcome; where it does not come it is given up a while after the harness has left. Throws `turn_aborted`. */
export async function unlessLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    const error = new PagurusError("turn_aborted", "The harness left before its request was decided on.");
    timer = setTimeout(() => left.reject(error), LEFT_MS);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  // What fails when nobody waits for it any more is nobody's.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, left.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
