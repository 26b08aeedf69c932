/** Bounds of what ACP clients send, checked in the bytes before the library parses them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { WebSocket } from "ws";
import { toPagurusError } from "../contract/errors.ts";
import { JsonMeter, type JsonBounds } from "../platform/json/json-bounds.ts";
import { refuse } from "./refusal.ts";

/** A prompt with a thousand blocks has a few thousand items. */
const BOUNDS: JsonBounds = { maxItems: 20_000, maxDepth: 100 };
/** Status code of a WebSocket that closes as a message was too big. */
const TOO_BIG = 1009;

/** A client's socket: a message with more items or depth than the bounds closes it before it is parsed. */
export class BoundedSocket extends WebSocket {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event !== "message" || isWithinBounds(args[0])) return super.emit(event, ...args);
    this.close(TOO_BIG, "The message has too many items.");
    return false;
  }
}

function isWithinBounds(data: unknown): boolean {
  const pieces = Array.isArray(data) ? data : [data];
  const meter = new JsonMeter(BOUNDS);
  try {
    for (const piece of pieces) if (piece instanceof Uint8Array) meter.add(piece);
    return true;
  } catch {
    return false;
  }
}

/** Answers 413 once the body is over the bounds; the library then gets no more of it. */
export function meterBody(request: IncomingMessage, response: ServerResponse): void {
  const meter = new JsonMeter(BOUNDS);
  const onData = (piece: Buffer): void => {
    try {
      meter.add(piece);
    } catch (error) {
      const { code, message } = toPagurusError(error);
      refuse(response, "/acp", { status: 413, code, message });
      request.removeAllListeners("data").resume();
    }
  };
  request.on("data", onData);
}
