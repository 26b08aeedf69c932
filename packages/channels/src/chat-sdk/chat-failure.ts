/** Errors of the Chat SDK's adapters, as the contract names them. */
import { defined } from "@pagurus/core/data/defined";
import type { Logger } from "chat";
import type { PagurusError } from "@pagurus/contract/errors";
import { channelFailure, channelRefusal } from "../channel-failure.ts";

/** Longest pause that a service may ask for, s: some limits are those of an hour. */
export const LONGEST_WAIT_S = 3_600;
/** Codes of errors that a repeat does not change. */
const REFUSALS: readonly unknown[] = ["VALIDATION_ERROR", "PERMISSION_DENIED", "NOT_FOUND"];

/** An error of a service's limit as the adapters have theirs; `waitS`: how long the service asks to wait, s, where it says so. */
export function limitError(message: string, waitS: number | undefined): Error {
  return Object.assign(new Error(message), {
    code: "RATE_LIMITED",
    ...defined({ retryAfter: waitS }),
  });
}

/** How long the service asks to wait, s; undefined where it does not. */
export function waitOf(error: unknown): number | undefined {
  const { code, retryAfter } = error as { code?: unknown; retryAfter?: unknown };
  if (code !== "RATE_LIMITED") return undefined;
  return typeof retryAfter === "number" ? retryAfter : 1;
}

/** `channel_refused` where the service will never take the message, else `channel_failed`. */
export function sendFailure(id: string, error: unknown): PagurusError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (REFUSALS.includes(code)) return channelRefusal(id, String(message));
  return channelFailure(id, "could not send a message", error);
}

/** The adapters log contents and errors of their own; what counts reaches the host as an error. */
export const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};
