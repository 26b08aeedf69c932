/**
 * Bound of the ACP connections of one caller over HTTP. Such a connection has no socket of its own: one that its client left without a
 * `DELETE` would stay, with its agent, as long as the server.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { stringOf } from "@pagurus/core/data/record-fields";

export const CONNECTION_HEADER = "acp-connection-id";
/** Connections without a request or stream that are kept, those that were used last. */
export const MOST_IDLE = 64;

export class AcpConnections {
  /** Number of requests and streams that are open, by connection, in order of last use. */
  readonly #open = new Map<string, number>();
  readonly #close: (id: string) => void;

  /** `close` ends a connection. */
  constructor(close: (id: string) => void) {
    this.#close = close;
  }

  /** Follows a request until its answer ends. */
  follow({ method, headers }: Pick<IncomingMessage, "method" | "headers">, response: ServerResponse): void {
    const id = stringOf(headers[CONNECTION_HEADER]);
    this.#use(id, 1);
    response.once("close", () => {
      const made = stringOf(response.getHeader(CONNECTION_HEADER));
      if (id === "" && made !== "") this.#open.set(made, 0);
      if (method === "DELETE") this.#open.delete(id);
      else this.#use(id, -1);
      this.#closeIdle();
    });
  }

  /** An id that names no connection is not kept. */
  #use(id: string, more: number): void {
    const count = this.#open.get(id);
    if (count === undefined) return;
    this.#open.delete(id);
    this.#open.set(id, count + more);
  }

  #closeIdle(): void {
    const idle = [...this.#open].filter(([, count]) => count === 0);
    for (const [id] of idle.slice(0, Math.max(0, idle.length - MOST_IDLE))) {
      this.#open.delete(id);
      this.#close(id);
    }
  }
}
