import type { ErrorCode } from "@pagurus/contract/errors";

/** An error of the server, or of the way to it: `server_failed` where it did not answer. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  /** Code of the error catalogue. */
  readonly code: ErrorCode;
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly details: Record<string, unknown> = {};

  constructor(code: ErrorCode, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    // The mark of a `PagurusError`, so that a host's code takes it for one.
    Object.defineProperty(this, Symbol.for("pagurus.error"), { value: true });
    this.code = code;
    this.status = options.status ?? 0;
  }
}

/** The error of an answer that is not a success. */
export async function errorOf(answer: Response): Promise<ClientError> {
  const { status } = answer;
  const text = await answer.text().catch(() => "");
  const error = faultIn(text);
  const message = error.message ?? `The server answered with HTTP status ${status}; check its address.`;
  return new ClientError(error.code ?? "server_failed", message, { status });
}

function faultIn(text: string): { code?: ErrorCode; message?: string } {
  try {
    return (JSON.parse(text) as { error?: { code?: ErrorCode; message?: string } }).error ?? {};
  } catch {
    // A proxy in between answered.
    return {};
  }
}
