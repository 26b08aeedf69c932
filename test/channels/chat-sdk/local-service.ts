/** An HTTP server that a test stops, starts again at the same port, and cuts off. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export interface Call {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

export interface Reply {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

export abstract class LocalService {
  #server: Server | undefined;
  #port = 0;
  #isCut = false;

  /** Answers a request; `isGone` resolves when its client has gone. */
  protected abstract answer(call: Call, isGone: Promise<void>): Promise<Reply> | Reply;

  /** Takes a WebSocket over. */
  protected upgrade(_request: IncomingMessage, socket: Duplex, _head: Buffer): void {
    socket.destroy();
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on("upgrade", (request, socket, head) => {
      if (this.#isCut) socket.destroy();
      else this.upgrade(request, socket, head);
    });
    this.#server = server;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isCut) {
      request.socket.destroy();
      return;
    }
    const gone = once(response, "close").then(() => undefined);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      return;
    }
    const { method = "", url: path = "", headers } = request;
    const call = { method, path, headers, body: Buffer.concat(chunks) };
    const { status, body, headers: more } = await this.answer(call, gone);
    if (response.destroyed) return;
    if (Buffer.isBuffer(body)) response.writeHead(status).end(body);
    else
      response.writeHead(status, { "content-type": "application/json", ...more }).end(JSON.stringify(body));
  }

  /** Ends all connections and takes no other until `connectAgain`. */
  cut(): void {
    this.#isCut = true;
    this.#server?.closeAllConnections();
  }

  connectAgain(): void {
    this.#isCut = false;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
}
