/** Ends the request or the socket of a token that is no longer valid: its handler may close it cleanly, then the connection is cut. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { OpenByToken } from "./open-by-token.ts";

/** Time for a handler to end its answer, ms. */
const GRACE_MS = 200;
/** Close code of a WebSocket whose token ended: of the range for applications, like HTTP's 401. */
const CLOSE_CODE = 4401;

export const TOKEN_ENDED = "The token was revoked or has expired; sign in again or use another token.";

/** Registers a request until its response is over. The signal fires when the token ends. */
export function openRequest(
  opened: OpenByToken,
  tokenId: string,
  response: ServerResponse<IncomingMessage>,
): AbortSignal {
  const ended = new AbortController();
  // Its client has disconnected: no event would remove it from the register.
  if (response.destroyed) return ended.signal;
  const forget = opened.add(tokenId, () => {
    ended.abort(new Error(TOKEN_ENDED));
    cutLater(() => {
      if (!response.writableFinished) response.destroy();
      // Answered before its body had arrived: nothing waits for the rest.
      else if (!response.req.complete) response.req.destroy();
    });
  });
  response.once("close", forget);
  return ended.signal;
}

/** Registers a socket that was upgraded to a WebSocket, until it closes. */
export function openSocket(opened: OpenByToken, tokenId: string, socket: Duplex): void {
  if (socket.destroyed) return;
  const forget = opened.add(tokenId, () => {
    socket.end(closeFrame(CLOSE_CODE, TOKEN_ENDED));
    cutLater(() => socket.destroy());
  });
  socket.once("close", forget);
}

function cutLater(cut: () => void): void {
  setTimeout(cut, GRACE_MS).unref();
}

/** A close frame of a server (RFC 6455, section 5.5.1). Allowed between any two frames, also those of one message. */
function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason);
  const frame = Buffer.alloc(4 + text.length);
  frame.writeUInt8(0x88, 0);
  frame.writeUInt8(2 + text.length, 1);
  frame.writeUInt16BE(code, 2);
  text.copy(frame, 4);
  return frame;
}
