/**
 * The model gateway's HTTP server: on the loopback of this machine only, at a port that the system chooses, while a route is open. A
 * request without a token of an open route only gets an error.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { PagurusError } from "@pagurus/contract/errors";
import { joinChunks } from "@pagurus/core/platform/joined-chunks";
import { silentLogger, type Logger } from "@pagurus/core/platform/log";
import { addressOf, admitted, refusal } from "./admit-request.ts";
import { ServerCall } from "./gateway-call.ts";
import { plainFault, type FaultMaker } from "./faults.ts";
import { TOKEN_HEADER } from "./headers.ts";
import { WIRE_LIMITS, type WireLimits } from "./limits.ts";
import { refuse } from "./refused.ts";
import { Route, type WireHandler } from "./route.ts";
import { RunTokens } from "./run-tokens.ts";

export type { WireHandler } from "./route.ts";

const HOST = "127.0.0.1";
/** Connections waiting to be accepted; the system has a limit of its own. */
const BACKLOG = 4_096;
/** Interval of the timeout checks of connections. */
const DEADLINE_CHECK_MS = 30_000;

export interface WireServerOptions {
  /** Formats failures for the dialect. */
  fault?: FaultMaker;
  logger?: Logger;
  limits?: Partial<WireLimits>;
}

export interface ServerRoute {
  /** Without a trailing slash and without the version path. */
  readonly baseUrl: string;
  readonly token: string;
  /** Headers that each request must have; secret, like the token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Revokes the token, ends running requests within a deadline, and stops the server with the last route. */
  close(): Promise<void>;
}

interface Listening {
  server: Server;
  port: number;
}

async function listen(server: Server): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port: 0, host: HOST, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve();
    });
  }).catch((cause: unknown) => {
    throw new PagurusError(
      "gateway_failed",
      `The model gateway cannot listen on ${HOST}; check that the system lets programs use its loopback.`,
      { cause },
    );
  });
  return { server, port: (server.address() as AddressInfo).port };
}

export class WireServer {
  readonly #fault: FaultMaker;
  readonly #logger: Logger;
  readonly #limits: WireLimits;
  readonly #tokens = new RunTokens<Route>();
  readonly #open = new Set<ServerRoute>();
  /** The newest call of each connection. */
  readonly #calls = new WeakMap<Socket, ServerCall>();
  #listening: Promise<Listening> | undefined;
  /** Routes that are open or being opened. */
  #users = 0;
  #routes = 0;

  constructor(options: WireServerOptions = {}) {
    this.#fault = options.fault ?? plainFault;
    this.#logger = options.logger ?? silentLogger;
    this.#limits = { ...WIRE_LIMITS, ...options.limits };
  }

  /** Starts the server if it is not running. Throws `gateway_failed`. */
  async route(handler: WireHandler): Promise<ServerRoute> {
    this.#users += 1;
    const { port } = await (this.#listening ??= this.#start()).catch((error: unknown) => {
      this.#listening = undefined;
      this.#users -= 1;
      throw error;
    });
    const number = this.#routes;
    this.#routes += 1;
    const logger = this.#logger.child({ route: number });
    const route = new Route(handler, { fault: this.#fault, limits: this.#limits, logger });
    const { token, revoke } = this.#tokens.issue(route);
    let closing: Promise<void> | undefined;
    const opened: ServerRoute = {
      baseUrl: `http://${HOST}:${port}`,
      token,
      headers: { [TOKEN_HEADER]: token },
      close: () =>
        (closing ??= (async () => {
          revoke();
          await route.close();
          this.#open.delete(opened);
          this.#users -= 1;
          if (this.#users === 0) await this.#stop();
        })()),
    };
    this.#open.add(opened);
    return opened;
  }

  /** Closes every route, and so the server. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((route) => route.close()));
  }

  async #start(): Promise<Listening> {
    const { maxHeaderBytes, keepAliveMs, headMs } = this.#limits;
    const server = createServer({
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: headMs,
      connectionsCheckingInterval: Math.min(headMs, DEADLINE_CHECK_MS),
      // No limit for a long body; one without new data is aborted where it is read.
      requestTimeout: 0,
      noDelay: true,
    });
    // Headers are limited by bytes; above a count limit Node would drop them silently.
    server.maxHeadersCount = 0;
    const listening = await listen(server);
    const serve = (waits: boolean) => (request: IncomingMessage, response: ServerResponse) => {
      joinChunks(request);
      return this.#serve(new ServerCall(request, response, { limits: this.#limits, waits }), listening.port);
    };
    server.on("request", serve(false)).on("checkContinue", serve(true));
    server.on("connection", (socket) => socket.setMaxListeners(0));
    const refused = new WeakSet<Socket>();
    server.on("clientError", (error, socket) => this.#refuse(error, socket as Socket, refused));
    this.#logger.info("The model gateway listens.", { port: listening.port });
    return listening;
  }

  async #stop(): Promise<void> {
    const listening = this.#listening;
    this.#listening = undefined;
    if (listening === undefined) return;
    const { server, port } = await listening;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      // Connections left have no route any more.
      server.closeAllConnections();
    });
    this.#logger.info("The model gateway has ended.", { port });
  }

  #serve(call: ServerCall, port: number): void {
    const { request } = call;
    this.#calls.set(request.socket, call);
    const address = addressOf(request.url ?? "");
    const { path } = address;
    const why = refusal(request, port);
    if (why !== undefined) return call.reply(this.#fault(path, "unauthorized", why));
    const admission = admitted(request, address, this.#tokens);
    if (admission === undefined)
      return call.reply(this.#fault(path, "unauthorized", "The request has no valid token of the gateway."));
    return admission.owner.serve(call, admission.target);
  }

  #refuse(error: Error & { code?: string }, socket: Socket, refused: WeakSet<Socket>): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    const call = this.#calls.get(socket);
    // Bytes after the head of an answer would be read as part of it.
    if (call !== undefined && !call.isOver && call.response.headersSent) return void socket.destroy();
    this.#logger.debug("The model gateway refused a connection.", { code: error.code });
    refuse(socket, error, { fault: this.#fault, lingerMs: this.#limits.lingerMs });
  }
}
