import type { AppServer } from "./app-server.ts";
import type { TurnInterruptParams } from "../protocol.ts";

/** Timeout for a native turn to end after its interrupt, ms. */
const INTERRUPT_MS = 5_000;

/** Interrupts a native turn. Resolves with its end; undefined when the request fails or times out. */
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
