/** Bounds of what is being answered: requests of each token, and bytes of the bodies of all. */
import type { IncomingMessage } from "node:http";
import { PagurusError } from "@pagurus/contract/errors";
import { DEFAULT_BODY_BYTES } from "../api/request-bodies.ts";

interface InFlightSettings {
  /** Requests and sockets of one token that are open at once; event streams have a limit of their own. Default 256. */
  maxRequests?: number | undefined;
  /** Bytes of all bodies that are held at once; one of the longest always fits. Default 128 MiB. */
  maxBytes?: number | undefined;
  /** Longest body; the code that reads a longer one refuses it. */
  maxBodyBytes?: number | undefined;
}

const DEFAULT_REQUESTS = 256;
/** Four bodies of the largest default length. */
const DEFAULT_BYTES = 128 * 2 ** 20;
/** Seconds after which a client that was refused should try again. */
export const RETRY_S = 1;
/** Bodies up to this length are not counted: the number of requests bounds them, and they pass while long ones wait. */
const SHORT = 2 ** 16;

/** Bytes of one body that are counted, until they are released. */
export interface HeldBytes {
  /** Counts the bytes of a body that has no length in its head. Throws `server_busy`. */
  add(bytes: number): void;
  release(): void;
}

/** A response or a socket, whose end is the end of the request. */
interface Over {
  destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
}

export class InFlight {
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  readonly #maxBodyBytes: number;
  readonly #requests = new Map<string, number>();
  /** Ends the place of a request early, as one that became a stream. */
  readonly #places = new WeakMap<object, () => void>();
  readonly #held = new WeakMap<IncomingMessage, HeldBytes>();
  #bytes = 0;

  constructor({ maxRequests, maxBytes, maxBodyBytes }: InFlightSettings = {}) {
    this.#maxRequests = maxRequests ?? DEFAULT_REQUESTS;
    this.#maxBodyBytes = maxBodyBytes ?? DEFAULT_BODY_BYTES;
    this.#maxBytes = Math.max(maxBytes ?? DEFAULT_BYTES, this.#maxBodyBytes);
  }

  /** Takes a place of the token until `over` closes; false if it has none left. */
  enter(tokenId: string, over: Over): boolean {
    const open = this.#requests.get(tokenId) ?? 0;
    if (open >= this.#maxRequests) return false;
    if (over.destroyed) return true;
    this.#requests.set(tokenId, open + 1);
    const leave = once(() => {
      const left = (this.#requests.get(tokenId) ?? 1) - 1;
      if (left > 0) this.#requests.set(tokenId, left);
      else this.#requests.delete(tokenId);
    });
    this.#places.set(over, leave);
    over.once("close", leave);
    return true;
  }

  /** The place is free: what it was for is counted elsewhere. */
  leave(over: object): void {
    this.#places.get(over)?.();
  }

  /** Counts a request's body by the length in its head, until its response closes. Throws `server_busy`. */
  hold(request: IncomingMessage, over: Over): void {
    const held = this.held();
    const length = Number(request.headers["content-length"] ?? 0);
    if (length > this.#maxBodyBytes) return;
    if (length > 0) held.add(length);
    if (over.destroyed) return held.release();
    over.once("close", () => held.release());
    if (length === 0) this.#held.set(request, held);
  }

  /** Counts a piece of a body without a length in its head. Throws `server_busy`. */
  readonly read = (request: IncomingMessage, bytes: number): void => {
    this.#held.get(request)?.add(bytes);
  };

  /** Bytes that are counted as they come. */
  held(): HeldBytes {
    let own = 0;
    let counted = 0;
    return {
      add: (bytes) => {
        own += bytes;
        if (own <= SHORT) return;
        const more = own - counted;
        if (this.#bytes + more > this.#maxBytes) throw busy();
        counted = own;
        this.#bytes += more;
      },
      release: () => {
        this.#bytes -= counted;
        own = counted = 0;
      },
    };
  }
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}

function busy(): PagurusError {
  return new PagurusError(
    "server_busy",
    `The server holds as many bytes of requests as it may (server.maxBytesInFlight); try again in ${RETRY_S} s.`,
  );
}
