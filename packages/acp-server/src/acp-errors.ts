import { RequestError } from "@agentclientprotocol/sdk";
import { PagurusError, toPagurusError, type ErrorCode } from "@pagurus/contract/errors";

/** Error numbers of JSON-RPC and ACP; a code that is not listed is an internal error (-32603) with its own message. */
const NUMBERS: Partial<Record<ErrorCode, number>> = {
  usage_invalid: -32602,
  attachment_invalid: -32602,
  session_key_invalid: -32602,
  model_unknown: -32602,
  runtime_unknown: -32602,
  runtime_unsupported: -32602,
  session_not_found: -32002,
  entry_not_found: -32002,
  turn_aborted: -32800,
};
const INTERNAL = -32603;

/** Error of a failed turn, from its last event. */
export function turnRequestError({ code, message }: { code: string; message: string }): RequestError {
  return new RequestError(NUMBERS[code as ErrorCode] ?? INTERNAL, message, { code });
}

/** The error's message as `message`, its code in `data.code`; never a stack. */
export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  return turnRequestError(toPagurusError(error));
}

export function invalid(sentence: string): PagurusError {
  return new PagurusError("usage_invalid", sentence);
}

/** Error for a session that is not open in this process, or was closed. */
export function notOpen(sessionId: string): PagurusError {
  return unknownSession(sessionId, "open here; open it with session/load or session/resume first.");
}

/** Error for a session that the client names and that is not open here or does not exist. */
export function unknownSession(sessionId: string, why: string): PagurusError {
  return new PagurusError("session_not_found", `There is no session "${sessionId.slice(0, 200)}" ${why}`, {
    details: { sessionId },
  });
}
