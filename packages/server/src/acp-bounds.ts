/** Bounds of what ACP clients send, checked in the bytes before the library parses them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { WebSocket } from "ws";
import { Readable, type Duplex } from "node:stream";
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { JsonMeter, type JsonBounds } from "@pagurus/core/platform/json/json-bounds";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import { readJson } from "@pagurus/core/platform/json/read-json";
import { nextSlice } from "@pagurus/core/platform/pace";
import { RETRY_S, type HeldBytes, type InFlight } from "./access/in-flight.ts";
import type { LongMessages } from "./acp-messages.ts";
import { RequestBodies } from "./api/request-bodies.ts";
import { refuse } from "./refusal.ts";

/** A prompt with a thousand blocks has a few thousand items; the library checks each of them at once. */
const BOUNDS: JsonBounds = { maxItems: 8_000, maxDepth: 100, maxMembers: 2_000 };
/** Longer messages are parsed in the thread, and not by the library. */
const SHORT = 2 ** 18;
/** Messages that the library answers as such. */
const NO_JSON = Buffer.from("?");
const NO_MESSAGE = Buffer.from("0");
/** Status code of a WebSocket that closes as a message was too big. */
const TOO_BIG = 1009;
/** Status code of a WebSocket that may be opened again later. */
const TRY_LATER = 1013;

export interface AcpBounds {
  inFlight: InFlight;
  json: JsonThread;
  messages: LongMessages;
}

/**
 * Class of the sockets of clients: a message with more items or depth than the bounds closes its socket before it is parsed, and so do
 * the bytes of one that the server may not hold. Messages keep their order.
 */
export function boundedSocket({ inFlight, json, messages }: AcpBounds): typeof WebSocket {
  return class extends WebSocket {
    readonly #held = inFlight.held();
    /** The last message that waits, for itself or for a long one before it. */
    #last: Promise<void> | undefined;
    /** Forget long messages that the agent has not taken. */
    readonly #forget = new Set<() => void>();

    override emit(event: string | symbol, ...args: unknown[]): boolean {
      if (event === "open") this.#count();
      if (event === "close") {
        this.#held.release();
        for (const forget of this.#forget) forget();
      }
      if (event !== "message") return super.emit(event, ...args);
      this.#held.release();
      const [data, isBinary] = args;
      // The library does not read it.
      if (isBinary === true || !Buffer.isBuffer(data)) return super.emit(event, ...args);
      if (data.length <= SHORT && !this.#last) return this.#pass(data);
      this.#wait(data);
      return true;
    }

    /** The library shows a message when it is complete; its bytes are counted as they come. */
    #count(): void {
      const { _socket: socket } = this as unknown as { _socket: Duplex };
      socket.on("data", (bytes: Buffer) => {
        if (!this.#holds(this.#held, bytes.length)) this.#held.release();
      });
    }

    #holds(held: HeldBytes, bytes: number): boolean {
      try {
        held.add(bytes);
        return true;
      } catch {
        this.close(TRY_LATER, "The server is busy.");
        return false;
      }
    }

    #pass(bytes: Buffer): boolean {
      if (isWithinBounds(bytes)) return super.emit("message", bytes, false);
      this.#refuse();
      return false;
    }

    #refuse(): void {
      this.close(TOO_BIG, "The message has too many items.");
    }

    #wait(bytes: Buffer): void {
      const held = inFlight.held();
      if (!this.#holds(held, bytes.length)) return;
      const own = (this.#last ?? Promise.resolve()).then(async () => {
        if (bytes.length > SHORT) return await this.#passLong(bytes, held);
        held.release();
        return void this.#pass(bytes);
      });
      this.#last = own;
      void own.finally(() => {
        if (this.#last === own) this.#last = undefined;
      });
    }

    async #passLong(bytes: Buffer, held: HeldBytes): Promise<void> {
      try {
        const message = await readJson(bytes, BOUNDS, json);
        await nextSlice();
        if (this.readyState !== WebSocket.OPEN) return held.release();
        if (!isEnvelope(message)) throw new PagurusError("usage_invalid", "It is not a message of JSON-RPC.");
        const { text, forget } = messages.keep(message, () => {
          held.release();
          this.#forget.delete(forget);
        });
        this.#forget.add(forget);
        super.emit("message", text, false);
      } catch (error) {
        held.release();
        if (isPagurusError(error) && error.code === "body_too_long") this.#refuse();
        else super.emit("message", error instanceof SyntaxError ? NO_JSON : NO_MESSAGE, false);
      }
    }
  };
}

function isWithinBounds(bytes: Buffer): boolean {
  try {
    new JsonMeter(BOUNDS).add(bytes);
    return true;
  } catch {
    return false;
  }
}

/** What of a message decides how it is answered: the library fails at an id or a method of another kind. */
function isEnvelope(value: unknown): value is Record<string, unknown> {
  const { id = null, method = "" } = recordOf(value);
  const isId = id === null || typeof id === "string" || typeof id === "number";
  return isRecord(value) && isId && typeof method === "string";
}

/** The request with its body read, within the bounds and with an envelope; undefined where it was refused here. */
export async function boundedRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, json, inFlight, messages }: AcpBounds & { maxBytes: number },
): Promise<IncomingMessage | undefined> {
  let bytes: Buffer;
  try {
    bytes = await new RequestBodies({ maxBytes, onBytes: inFlight.read }, json).bytes(request);
    const isLong = bytes.length > SHORT;
    const value = await readJson(bytes, BOUNDS, json);
    if (!isEnvelope(value)) throw new PagurusError("usage_invalid", "The body is not a message of JSON-RPC.");
    if (isLong) {
      await nextSlice();
      const { text, forget } = messages.keep(value, () => undefined);
      bytes = text;
      if (response.destroyed) forget();
      else response.once("close", forget);
    }
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
  const length = { "content-length": String(bytes.length) };
  const made = { method, url, headers: { ...headers, ...length }, rawHeaders, socket };
  return Object.assign(again, made) as unknown as IncomingMessage;
}
