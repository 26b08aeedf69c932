import type { AppServer } from "./app-server.ts";
import type { TurnInterruptParams } from "./protocol.ts";

/** How long a native turn may take to end once it is interrupted, ms. */
const INTERRUPT_MS = 5_000;

/** Interrupts a native turn. How it ended; undefined where it fails, or does not end in time. */
export function interrupted<T>(
  server: AppServer,
  params: TurnInterruptParams,
  ended: Promise<T>,
): Promise<T | undefined> {
  server.request("turn/interrupt", params, { deadlineMs: INTERRUPT_MS }).catch(() => undefined);
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), INTERRUPT_MS).unref();
  });
  return Promise.race([ended, late]).catch(() => undefined);
}
