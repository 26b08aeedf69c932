import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import { SYSTEM_CLOCK, type Clock } from "../data/clock.ts";
import { durationText } from "./duration.ts";

/** Longest delay that timers accept; a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface Deadline {
  /** Milliseconds. */
  ms: number;
  /** Name of the work, for the error's sentence. */
  label: string;
  signal?: AbortSignal | undefined;
  code?: ErrorCode;
  /** Default: the machine's. */
  clock?: Clock;
}

/**
 * Runs `work` with a signal that aborts at the deadline or with the caller's signal. Settles at that moment even when `work`
 * never does. Throws `deadline_exceeded` (or `code`), `turn_aborted`.
 */
export async function withDeadline<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  deadline: Deadline,
): Promise<T> {
  const { signal, label, clock = SYSTEM_CLOCK } = deadline;
  if (signal?.aborted)
    throw new PagurusError("turn_aborted", `${label} was aborted.`, { cause: signal.reason });
  const ms = Math.min(deadline.ms, LONGEST_TIMER_MS);
  const controller = new AbortController();
  let cancel: (() => void) | undefined;
  let onAbort: (() => void) | undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (error: PagurusError): void => {
      reject(error);
      controller.abort(error);
    };
    cancel = clock.after(ms, () => {
      stop(
        new PagurusError(
          deadline.code ?? "deadline_exceeded",
          `${label} took longer than ${durationText(ms)}.`,
        ),
      );
    });
    onAbort = () =>
      stop(new PagurusError("turn_aborted", `${label} was aborted.`, { cause: signal?.reason }));
    signal?.addEventListener("abort", onAbort, { once: true });
  });
  stopped.catch(() => undefined);
  try {
    return await Promise.race([Promise.resolve().then(() => work(controller.signal)), stopped]);
  } finally {
    cancel?.();
    if (onAbort) signal?.removeEventListener("abort", onAbort);
  }
}

/** The promise's outcome, or `turn_aborted` as soon as the signal aborts; the work itself continues. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // Nothing awaits it once the signal has aborted, so its rejection is swallowed.
  work.catch(() => undefined);
  return withDeadline(() => work, { ms: LONGEST_TIMER_MS, label: "The turn", signal });
}

/**
 * Runs one of many works of a long-lived `signal` with a signal of its own, which fires with that one, and when the work has ended or
 * failed: what listens to it is released then, and not kept.
 */
export async function withOwnSignal<T>(
  signal: AbortSignal,
  work: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    signal.removeEventListener("abort", onAbort);
    controller.abort();
  }
}

/** Resolves after `ms`, or rejects with `turn_aborted` when the signal aborts first. */
export function sleep(ms: number, signal?: AbortSignal, clock: Clock = SYSTEM_CLOCK): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(new PagurusError("turn_aborted", "A wait was aborted.", { cause: signal?.reason }));
    };
    if (signal?.aborted) return onAbort();
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    return undefined;
  });
}
