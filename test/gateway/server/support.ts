/** An endpoint that answers by hand, the gateway in front of it, and a client that reports what it got. */
import { request as httpRequest, type Agent } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Dialect } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import type { WireCall } from "../../../packages/gateway/src/server/gateway-call.ts";
import type { Passed, Tap } from "../../../packages/gateway/src/server/relay.ts";
import {
  WireServer,
  type ServerRoute,
  type WireServerOptions,
} from "../../../packages/gateway/src/server/gateway-server.ts";
import { directUpstream } from "../../../packages/gateway/src/upstream/direct.ts";
import type { Upstream } from "../../../packages/gateway/src/upstream/upstream.ts";

export interface Asked {
  line: string;
  /** Alternating names and values. */
  headers: string[];
  body: Buffer;
}

export interface RawEndpoint {
  baseUrl: string;
  asked: Asked[];
  sockets: Set<Socket>;
  close(): Promise<void>;
}

/** Bytes in, bytes out, without an HTTP library. Requests with a length only. */
export async function rawEndpoint(answer: (socket: Socket, asked: Asked) => void): Promise<RawEndpoint> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
    let pieces: Buffer[] = [];
    let size = 0;
    let needed = 0;
    socket.on("data", (piece) => {
      pieces.push(piece);
      size += piece.length;
      if (size < needed) return;
      const bytes = Buffer.concat(pieces);
      const end = bytes.indexOf("\r\n\r\n");
      if (end === -1) return;
      const [line = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
      const headers = lines.flatMap((each) => {
        const colon = each.indexOf(":");
        return [each.slice(0, colon), each.slice(colon + 1).trim()];
      });
      const at = headers.findIndex((name, index) => index % 2 === 0 && /^content-length$/i.test(name));
      needed = end + 4 + Number(at === -1 ? 0 : headers[at + 1]);
      if (size < needed) return;
      const request = { line, headers, body: bytes.subarray(end + 4, needed) };
      pieces = [];
      size = 0;
      needed = 0;
      asked.push(request);
      answer(socket, request);
    });
  });
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, resolve),
  );
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked, sockets, close };
}

export function chunk(bytes: Buffer | string): Buffer {
  const body = Buffer.from(bytes as string);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);
}

export const LAST_CHUNK = "0\r\n\r\n";
export const STREAM_HEAD =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

export function handOn(call: WireCall, upstream: Upstream, body: Buffer, tap?: Tap): Promise<Passed> {
  const { method, path, query, rawHeaders, signal } = call;
  const request = { method, path: `${path}${query}`, rawHeaders, body: [body], read: undefined, signal };
  return upstream.send({ ...request, dialect: {} as Dialect }).then((answer) => call.pass(answer, tap));
}

export interface Gateway {
  route: ServerRoute;
  server: WireServer;
  calls: WireCall[];
  passed: Passed[];
  close(): Promise<void>;
}

/** Passes everything on to the endpoint. */
export async function gatewayTo(
  baseUrl: string,
  options: WireServerOptions & { tap?: Tap; headers?: Record<string, string> } = {},
): Promise<Gateway> {
  const { tap, headers, ...serverOptions } = options;
  const upstream = directUpstream({ baseUrl, label: "test", ...(headers === undefined ? {} : { headers }) });
  const server = new WireServer(serverOptions);
  const calls: WireCall[] = [];
  const passed: Passed[] = [];
  const route = await server.route(async (call) => {
    calls.push(call);
    passed.push(await handOn(call, upstream, await call.body(), tap));
  });
  return { route, server, calls, passed, close: () => server.close() };
}

export interface Met {
  status: number;
  rawHeaders: string[];
  body: Buffer;
  /** The answer ended regularly. */
  complete: boolean;
}

export interface Question {
  path?: string;
  method?: string;
  headers?: Record<string, string> | string[];
  /** More than one: sent in chunked coding. */
  body?: Buffer | readonly Buffer[];
  agent?: Agent;
}

/** Rejects only if no answer began. */
export function ask(baseUrl: string, question: Question = {}): Promise<Met> {
  const { path = "/v1/responses", method = "POST", headers = {}, body = Buffer.alloc(0) } = question;
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${baseUrl}${path}`, { method, headers, agent: question.agent ?? false });
    request.on("error", reject).on("response", (response) => {
      const pieces: Buffer[] = [];
      const settle = (): void =>
        resolve({
          status: response.statusCode ?? 0,
          rawHeaders: response.rawHeaders,
          body: Buffer.concat(pieces),
          complete: response.complete,
        });
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", () => undefined).on("close", settle);
    });
    for (const piece of Buffer.isBuffer(body) ? [] : body) request.write(piece);
    request.end(Buffer.isBuffer(body) ? body : undefined);
  });
}

/** A server's output for these bytes until it closes the connection. */
export function say(baseUrl: string, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (piece) => (received += piece.toString("latin1")));
    socket.on("error", () => undefined).on("close", () => resolve(received));
  });
}
