/** Errors of a channel's service, as the contract names them. */
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";

/** `channel_failed`; a cause that is one of the two codes already is returned as it is. `what` completes "The channel x". */
export function channelFailure(id: string, what: string, cause: unknown): PagurusError {
  if (isPagurusError(cause) && (cause.code === "channel_failed" || cause.code === "channel_refused"))
    return cause;
  const why = toPagurusError(cause).message.replace(/\.$/, "");
  return new PagurusError("channel_failed", `The channel ${id} ${what}: ${why}.`, {
    cause,
    details: { channel: id },
  });
}

/** `channel_failed` for any cause, such as a failure of that code inside a channel that does not name the channel. */
export function channelFailed(id: string, what: string, cause: unknown): PagurusError {
  const why = cause instanceof Error ? cause.message.replace(/\.$/, "") : String(cause);
  return new PagurusError("channel_failed", `The channel ${id} ${what}: ${why}.`, {
    cause,
    details: { channel: id },
  });
}

/** `channel_refused`: the service will never take this message. */
export function channelRefusal(id: string, why: string): PagurusError {
  return new PagurusError(
    "channel_refused",
    `The channel ${id} could not deliver a message, which is not tried again: ${why.replace(/\.$/, "")}.`,
    { details: { channel: id } },
  );
}
