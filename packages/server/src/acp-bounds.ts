/** Bounds of what ACP clients send, checked in the bytes before the library parses them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { WebSocket } from "ws";
import { Readable, type Duplex } from "node:stream";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { JsonMeter, type JsonBounds } from "@pagurus/core/platform/json/json-bounds";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import { readJson } from "@pagurus/core/platform/json/read-json";
import { RETRY_S, type InFlight } from "./access/in-flight.ts";
import { RequestBodies } from "./api/request-bodies.ts";
import { refuse } from "./refusal.ts";

/** A prompt with a thousand blocks has a few thousand items. */
const BOUNDS: JsonBounds = { maxItems: 20_000, maxDepth: 100, maxMembers: 2_000 };
/** Status code of a WebSocket that closes as a message was too big. */
const TOO_BIG = 1009;
/** Status code of a WebSocket that may be opened again later. */
const TRY_LATER = 1013;

/**
 * Class of the sockets of clients: a message with more items or depth than the bounds closes its socket before it is parsed, and so do
 * the bytes of one that the server may not hold.
 */
export function boundedSocket(inFlight: InFlight): typeof WebSocket {
  return class extends WebSocket {
    readonly #held = inFlight.held();

    override emit(event: string | symbol, ...args: unknown[]): boolean {
      if (event === "open") this.#count();
      if (event === "close") this.#held.release();
      if (event !== "message") return super.emit(event, ...args);
      this.#held.release();
      if (isWithinBounds(args[0])) return super.emit(event, ...args);
      this.close(TOO_BIG, "The message has too many items.");
      return false;
    }

    /** The library shows a message when it is complete; its bytes are counted as they come. */
    #count(): void {
      const { _socket: socket } = this as unknown as { _socket: Duplex };
      socket.on("data", (bytes: Buffer) => {
        try {
          this.#held.add(bytes.length);
        } catch {
          this.close(TRY_LATER, "The server is busy.");
          this.#held.release();
        }
      });
    }
  };
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

/** What of a message decides how it is answered: the library fails at an id or a method of another kind. */
function isEnvelope(value: unknown): boolean {
  const { id = null, method = "" } = recordOf(value);
  const isId = id === null || typeof id === "string" || typeof id === "number";
  return isRecord(value) && isId && typeof method === "string";
}

/** The request with its body read, within the bounds and with an envelope; undefined where it was refused here. */
export async function boundedRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, json, inFlight }: { maxBytes: number; json: JsonThread; inFlight: InFlight },
): Promise<IncomingMessage | undefined> {
  let bytes: Buffer;
  try {
    bytes = await new RequestBodies({ maxBytes, onBytes: inFlight.read }, json).bytes(request);
    // A copy, as the thread takes its bytes over.
    const value = await readJson(Buffer.from(bytes), BOUNDS, json);
    if (!isEnvelope(value)) throw new PagurusError("usage_invalid", "The body is not a message of JSON-RPC.");
  } catch (error) {
    const { code, message } =
      error instanceof SyntaxError
        ? new PagurusError("usage_invalid", "The body is not JSON; send a message of JSON-RPC.")
        : toPagurusError(error);
    const isBusy = code === "server_busy";
    const status = isBusy ? 503 : code === "body_too_long" ? 413 : 400;
    const headers = isBusy ? { "retry-after": String(RETRY_S) } : {};
    refuse(response, "/acp", { status, code, message, headers });
    return undefined;
  }
  const { method, url, headers, rawHeaders, socket } = request;
  const again = Readable.from([bytes], { objectMode: false });
  return Object.assign(again, { method, url, headers, rawHeaders, socket }) as unknown as IncomingMessage;
}
