/** Reads a request's complete body, unchanged. */
import type { IncomingMessage } from "node:http";
import { BodyPieces } from "@pagurus/core/platform/joined-chunks";
import { WireCallError } from "./faults.ts";
import type { WireLimits } from "./limits.ts";

/** The length in the head; undefined for a chunked body. */
function lengthOf(request: IncomingMessage): number | undefined {
  const length = request.headers["content-length"];
  return length === undefined ? undefined : Number(length);
}

export function hasBody(request: IncomingMessage): boolean {
  return request.headers["transfer-encoding"] !== undefined || (lengthOf(request) ?? 0) > 0;
}

function tooLarge(maxBytes: number): WireCallError {
  return new WireCallError(
    "too_large",
    `The request's body is larger than ${maxBytes} bytes; shorten the conversation or its attachments.`,
  );
}

/** Throws `WireCallError`: body too large, no data for too long, or client disconnected. */
export function readRequestBody(
  request: IncomingMessage,
  limits: Pick<WireLimits, "maxBodyBytes" | "bodyStallMs" | "onBytes">,
): Promise<Buffer> {
  const length = lengthOf(request);
  if ((length ?? 0) > limits.maxBodyBytes) return Promise.reject(tooLarge(limits.maxBodyBytes));
  if (request.destroyed && !request.readableEnded) return Promise.reject(clientLeft());
  return new Promise((resolve, reject) => {
    const pieces = new BodyPieces(length);
    const stall = setTimeout(() => {
      const seconds = limits.bodyStallMs / 1_000;
      settle(
        new WireCallError(
          "bad_request",
          `Nothing of the request's body came for ${seconds} s; send it again.`,
        ),
      );
    }, limits.bodyStallMs);
    const settle = (error?: WireCallError): void => {
      clearTimeout(stall);
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === undefined) return resolve(pieces.whole());
      request.pause();
      return reject(error);
    };
    const onData = (piece: Buffer): void => {
      if (pieces.size + piece.length > limits.maxBodyBytes) return settle(tooLarge(limits.maxBodyBytes));
      const problem = limits.onBytes?.(piece.length);
      if (problem !== undefined) return settle(new WireCallError("overloaded", problem));
      pieces.add(piece);
      stall.refresh();
      return undefined;
    };
    const onEnd = (): void => settle();
    const onClose = (): void => settle(clientLeft());
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

function clientLeft(): WireCallError {
  return new WireCallError("bad_request", "The client disconnected before its request was complete.");
}
