/** The HTTP server: checks each request's Host, Origin, caller and rate, then passes it to the API that its path names. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { joinChunks } from "@pagurus/core/platform/joined-chunks";
import { loadOnce } from "@pagurus/core/platform/load-once";
import type { Logger } from "@pagurus/core/platform/log";
import type { AuditLog } from "./access/audit-log.ts";
import type { Caller } from "./access/caller.ts";
import { RETRY_S, type InFlight } from "./access/in-flight.ts";
import { openRequest, openSocket } from "./access/open-requests.ts";
import type { RateLimits } from "./access/rate-limits.ts";
import { callerOf, type CallerSources } from "./access/request-caller.ts";
import { corsHeaders, originProblem, type AllowedOrigins } from "./access/request-origin.ts";
import type { ApiListener } from "./api/api-app.ts";
import { refuse, type Refusal } from "./refusal.ts";
import type { ServerParts } from "./server-parts.ts";

/** Timeout for the head of a request, and for the whole of it, ms. */
const HEAD_MS = 20_000;
const REQUEST_MS = 120_000;
/** Idle timeout of a keep-alive connection, ms. Longer than the clients' own. */
const KEEP_ALIVE_MS = 65_000;
/** Time for a client to send the rest of a body whose request was answered before its end, ms. */
const LINGER_MS = 10_000;
const MAX_HEADER_BYTES = 16 * 2 ** 10;
const MAX_CONNECTIONS = 4_096;

/** Another API that the server mounts, such as those of model providers. */
export interface MountedApi {
  handles(path: string): boolean;
  /** `ended` fires when the caller's token ends; an answer that is not over shortly after is cut. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    ended: AbortSignal,
  ): Promise<void>;
  /** Takes a WebSocket over; false where the caller may not. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller): boolean;
}

/** Paths without a token: each request has another proof, such as a signature, or asks for what anyone may read. */
export interface OpenApi {
  handles(path: string): boolean;
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** A request whose caller may use the server. */
export interface AdmittedRequest {
  caller: Caller;
  /** Fires when the caller's token ends. */
  ended: AbortSignal;
}

export interface HttpServerOptions {
  parts: ServerParts;
  audit: AuditLog;
  limits: RateLimits;
  inFlight: InFlight;
  sources: CallerSources;
  allowed: AllowedOrigins;
  mounted: readonly MountedApi[];
  /** Served without a token. */
  open: readonly OpenApi[];
  logger: Logger;
}

/** Headers of every answer: its type is not guessed, and no page of another origin embeds it. */
function setRules(response: ServerResponse): void {
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("cross-origin-resource-policy", "same-origin");
}

/** Discards the rest of a body: a connection that is closed while its client still sends is reset, and the client may never read its answer. */
function readRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const timer = setTimeout(() => request.socket.destroySoon(), LINGER_MS);
  request.once("close", () => clearTimeout(timer)).resume();
}

const TOO_MANY = `429 Too Many Requests\r\nretry-after: ${RETRY_S}`;

const NO_TOKEN =
  "The request has no valid token: send one as Authorization: Bearer; pagurus token create makes one.";

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #admittedRequests = new WeakMap<IncomingMessage, AdmittedRequest>();
  /** Most of the server's code: a start does not wait for it. */
  readonly #loadApi = loadOnce(() => import("./api/api-app.ts"));
  #api: ApiListener | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer({
      headersTimeout: HEAD_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      noDelay: true,
    });
    this.#server.on("upgrade", (request, socket, head) => void this.#upgrade(request, socket, head));
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("request", (request, response) => {
      joinChunks(request);
      void this.#serve(request, response);
    });
  }

  #admittedOf(request: IncomingMessage): AdmittedRequest {
    const admitted = this.#admittedRequests.get(request);
    if (admitted) return admitted;
    throw new PagurusError("token_invalid", NO_TOKEN);
  }

  /** Returns the port. Throws `server_failed`. */
  async listen(port: number, host: string, otherPort = false): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ port, host }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    }).catch(async (cause: unknown) => {
      const { code = "no code" } = cause as { code?: string };
      if (code === "EADDRINUSE" && otherPort) return void (await this.listen(0, host));
      const why = code === "EADDRINUSE" ? "another program uses the port" : `the system refuses it (${code})`;
      throw new PagurusError(
        "server_failed",
        `The server cannot listen on ${host} port ${port}: ${why}; choose another one with --port.`,
        { cause },
      );
    });
    return (this.#server.address() as AddressInfo).port;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    response.once("finish", () => readRest(request));
    try {
      setRules(response);
      const { allowed } = this.#options;
      const open = this.#options.open.find((api) => api.handles(path));
      if (open && originProblem(request, allowed) === undefined) return await open.serve(request, response);
      const caller = await this.#admitted(request, response, path);
      if (!caller) return;
      if (!this.#entered(request, response, path, caller)) return;
      const ended = openRequest(this.#options.parts.opened, caller.tokenId, response);
      this.#admittedRequests.set(request, { caller, ended });
      const mounted = this.#options.mounted.find((api) => api.handles(path));
      if (mounted) await mounted.serve(request, response, caller, ended);
      else await this.#answer(request, response);
    } catch (error) {
      this.#options.logger.error("request of the server failed", {
        path: path.slice(0, 40),
        error: String(error),
      });
      if (response.headersSent) request.socket.destroy();
      else
        refuse(response, path, {
          status: 503,
          code: "internal",
          message: "The server failed at the request; see its log.",
        });
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { apiListener } = await this.#loadApi();
    // The client may have left while the code was loaded.
    if (response.destroyed) return;
    const { parts, audit, logger } = this.#options;
    this.#api ??= apiListener({ parts, audit, logger, admitted: (asked) => this.#admittedOf(asked) });
    await this.#api(request, response);
  }

  /** Whether the request fits what may be open at once; else it was answered here. */
  #entered(request: IncomingMessage, response: ServerResponse, path: string, { tokenId }: Caller): boolean {
    const { inFlight } = this.#options;
    const headers = { "retry-after": String(RETRY_S) };
    if (!inFlight.enter(tokenId, response)) {
      const message = `The token has too many requests open (server.maxRequests); try again in ${RETRY_S} s.`;
      refuse(response, path, { status: 429, code: "server_busy", message, headers });
      return false;
    }
    try {
      inFlight.hold(request, response);
      return true;
    } catch (error) {
      const { code, message } = toPagurusError(error);
      refuse(response, path, { status: 503, code, message, headers });
      return false;
    }
  }

  /** A WebSocket passes the same checks; one that is refused gets the status alone. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const { allowed, sources, mounted, parts, inFlight } = this.#options;
    const api = mounted.find((each) => each.upgrade !== undefined && each.handles(path));
    socket.on("error", () => socket.destroy());
    // Tokens that cannot be read are not valid.
    const caller =
      originProblem(request, allowed) === undefined
        ? await Promise.resolve(callerOf(request, sources)).catch(() => undefined)
        : undefined;
    const isFull = api !== undefined && caller !== undefined && !inFlight.enter(caller.tokenId, socket);
    if (!isFull && api?.upgrade && caller && api.upgrade(request, socket, head, caller))
      return openSocket(parts.opened, caller.tokenId, socket);
    const status = isFull ? TOO_MANY : api ? "403 Forbidden" : "404 Not Found";
    socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  }

  /** The caller of a request that may pass; undefined where it was answered here. */
  async #admitted(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<Caller | undefined> {
    const { allowed, sources, limits } = this.#options;
    const reject = (refusal: Refusal): undefined => {
      refuse(response, path, refusal);
    };
    const problem = originProblem(request, allowed);
    if (problem !== undefined) return reject({ status: 403, code: "token_invalid", message: problem });
    const cors = corsHeaders(request.headers.origin, allowed);
    for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
    if (request.method === "OPTIONS") return void response.writeHead(204).end();
    if (path === "/health") return void response.writeHead(200, { "content-type": "text/plain" }).end("ok\n");
    const caller = await callerOf(request, sources);
    if (!caller)
      return reject({
        status: 401,
        code: "token_invalid",
        message: NO_TOKEN,
        headers: { "www-authenticate": "Bearer" },
      });
    const seconds = limits.take(caller.tokenId);
    if (seconds === 0) return caller;
    return reject({
      status: 429,
      code: "usage_invalid",
      message: `The token sends too many requests; try again in ${seconds} s.`,
      headers: { "retry-after": String(seconds) },
    });
  }

  /** Ends idle connections at once, and the others after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), deadlineMs);
    await closed;
    clearTimeout(timer);
  }
}
