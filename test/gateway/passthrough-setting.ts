/** A route of the real gateway between a client that writes bytes and an endpoint that reads them, with a stored log. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import type { WireAnswer } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import type { CaptureLog } from "../../packages/gateway/src/capture/capture.ts";
import type { ExchangeFacts } from "../../packages/gateway/src/request/exchange.ts";
import { createModelGateway, type Gateway, type GovernedRoute } from "../../packages/gateway/src/gateway.ts";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import { directUpstream, type DirectOptions } from "../../packages/gateway/src/upstream/direct.ts";
import type { LogFields, Logger } from "../../packages/core/src/platform/log.ts";
import { rawEndpoint, type Asked, type RawEndpoint } from "./server/support.ts";

/** Stores each line as it would be written to the log file, of all levels. */
export class LogSink {
  readonly lines: string[] = [];

  logger(bound: LogFields = {}): Logger {
    const at =
      (level: string) =>
      (message: string, fields?: Record<string, unknown>): void =>
        void this.lines.push(JSON.stringify({ level, message, ...bound, ...fields }));
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (fields) => this.logger({ ...bound, ...fields }),
    };
  }

  /** Asserts that no line contains one of the words. */
  assertWithout(words: Iterable<string>): void {
    const all = this.lines.join("\n");
    assert.ok(all.length > 0, "there is a log to look through");
    for (const word of words) assert.ok(!all.includes(word), `the log has ${JSON.stringify(word)}`);
  }
}

/** Values that are long enough to be distinguished from words of the log itself. */
export function distinctive(values: Iterable<string>): string[] {
  return [...values].filter((value) => value.length >= 10 && !/^(?:127\.0\.0\.1|localhost)/.test(value));
}

/** A call of the governor. */
export interface SeenCall {
  what: "sent" | "answered";
  request: number;
  answer?: WireAnswer;
  isAborted?: boolean;
}

export interface Setting {
  api: WireApi;
  gateway: Gateway;
  route: GovernedRoute;
  endpoint: RawEndpoint;
  log: LogSink;
  seenCalls: SeenCall[];
  facts: ExchangeFacts[];
  token: string;
  port: number;
  close(): Promise<void>;
}

export interface SettingOptions {
  api: WireApi;
  answer(socket: Socket, asked: Asked): void;
  governor?: Partial<Governor>;
  capture?: CaptureLog;
  upstream?: Partial<DirectOptions>;
}

/** A governor that lets everything pass unless other methods are passed in. */
export async function setting(options: SettingOptions): Promise<Setting> {
  const { api, answer, governor = {}, capture } = options;
  const endpoint = await rawEndpoint(answer);
  const log = new LogSink();
  const seenCalls: SeenCall[] = [];
  const facts: ExchangeFacts[] = [];
  const upstream = directUpstream({ baseUrl: endpoint.baseUrl, label: "test", ...options.upstream });
  const resolve = (): never => assert.fail("no model is asked for by name");
  const gateway = createModelGateway({ logger: log.logger(), resolve, capture });
  const route = await gateway.openRoute({
    api,
    sessionKey: "main",
    runtime: "test",
    onExchange: (fact) => void facts.push(fact),
    governor: {
      main: async () => undefined,
      compaction: async () => undefined,
      upstream: () => upstream,
      sent: (_request, { request }) => void seenCalls.push({ what: "sent", request }),
      answered: (_request, answer, { request, isAborted }) =>
        void seenCalls.push({ what: "answered", request, answer: answer, isAborted }),
      ...governor,
    },
  });
  return {
    api,
    gateway,
    route,
    endpoint,
    log,
    seenCalls,
    facts,
    token: Object.values(route.headers).join(),
    port: Number(new URL(route.baseUrl).port),
    close: async () => {
      await gateway.close();
      await endpoint.close();
    },
  };
}

export async function withSetting<T>(
  options: SettingOptions,
  work: (made: Setting) => Promise<T>,
): Promise<T> {
  const made = await setting(options);
  try {
    return await work(made);
  } finally {
    await made.close();
  }
}

export interface RawRequest {
  method?: string;
  /** Including its version. */
  path: string;
  /** Alternating names and values. */
  headers: readonly string[];
  body: Buffer;
}

export interface RawAnswer {
  status: number;
  /** Alternating names and values. */
  headers: string[];
  body: Buffer;
  /** The answer ended regularly. */
  isWhole: boolean;
}

export function requestBytes({ method = "POST", path, headers, body }: RawRequest): Buffer {
  const lines: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), body]);
}

/** The body without the frames of the chunked coding. `isWhole`: its last frame is there. */
function unchunked(bytes: Buffer): { body: Buffer; isWhole: boolean } {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return { body: Buffer.concat(parts), isWhole: false };
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    if (size === 0) return { body: Buffer.concat(parts), isWhole: bytes.length >= line + 4 };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

export function headerOf(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((each, index) => index % 2 === 0 && each.toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1];
}

/** The answer as far as it has come; undefined before the end of its head. `isClosed`: no more comes. */
function answerIn(bytes: Buffer, method: string, isClosed: boolean): RawAnswer | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = Number(first.split(" ")[1]);
  const headers = lines.flatMap((line) => [
    line.slice(0, line.indexOf(":")),
    line.slice(line.indexOf(":") + 2),
  ]);
  const rest = bytes.subarray(end + 4);
  const length = headerOf(headers, "content-length");
  if (method === "HEAD" || status === 204 || status === 304)
    return { status, headers, body: rest, isWhole: true };
  if (headerOf(headers, "transfer-encoding") !== undefined) return { status, headers, ...unchunked(rest) };
  if (length === undefined) return { status, headers, body: rest, isWhole: isClosed };
  return { status, headers, body: rest, isWhole: rest.length === Number(length) };
}

/** A client connection for several requests in sequence. */
export class RawClient {
  readonly socket: Socket;
  #pieces: Buffer[] = [];
  #isClosed = false;
  #onChange: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.socket
      .on("error", () => undefined)
      .on("data", (piece) => {
        this.#pieces.push(piece);
        this.#onChange();
      });
    this.socket.on("close", () => {
      this.#isClosed = true;
      this.#onChange();
    });
  }

  /** Rejects if the connection ends without the head of an answer. */
  async ask(request: RawRequest): Promise<RawAnswer> {
    this.socket.write(requestBytes(request));
    return this.answer(request.method);
  }

  async answer(method = "POST"): Promise<RawAnswer> {
    for (;;) {
      const isClosed = this.#isClosed;
      const bytes = Buffer.concat(this.#pieces);
      const answer = answerIn(bytes, method, isClosed);
      if (answer && (answer.isWhole || isClosed)) {
        this.#pieces = [];
        return answer;
      }
      if (isClosed) throw new Error("The connection has ended without an answer.");
      this.#pieces = [bytes];
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  end(): void {
    this.socket.destroy();
  }
}

/** One request on a connection of its own. */
export async function askRaw({ port }: Pick<Setting, "port">, request: RawRequest): Promise<RawAnswer> {
  const client = new RawClient(port);
  try {
    return await client.ask(request);
  } finally {
    client.end();
  }
}

const OF_CONNECTION = new Set([
  "host",
  "connection",
  "keep-alive",
  "te",
  "upgrade",
  "transfer-encoding",
  "trailer",
]);

/** The end-to-end headers. */
export function kept(headers: readonly string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]];
    const lower = name.toLowerCase();
    if (!OF_CONNECTION.has(lower) && lower !== "x-pagurus-token") found.push(name, value);
  }
  return found;
}

/** An answer with a length. */
export function plainAnswer(status: number, headers: readonly string[], body: Buffer): Buffer {
  const lines: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}\r\n`);
  const head = `HTTP/1.1 ${status} Some Words\r\n${lines.join("")}Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}
