/**
 * Local HTTP servers that speak the providers' real protocols with scripted replies, streamed where the request asks for a stream,
 * and record their requests. For tests and benchmarks; several can run in one process.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { anthropicMessages } from "../../packages/testkit/src/endpoint/anthropic-messages.ts";
import { errorBody } from "./errors.ts";
import { google } from "../../packages/testkit/src/endpoint/google.ts";
import { openAiCompletions } from "../../packages/testkit/src/endpoint/openai-completions.ts";
import { openAiResponses } from "../../packages/testkit/src/endpoint/openai-responses.ts";
import type { Frame, ReplyContext } from "../../packages/testkit/src/endpoint/script.ts";
import { wholeAnswer } from "../../packages/testkit/src/endpoint/whole-answer.ts";
import type { Protocol, RecordedRequest, ReplyScript, ReplyStep, ReplyUsage } from "./script.ts";

export { contextOverflowReply } from "./errors.ts";
export type { Protocol, RecordedRequest, ReplyScript, ReplyStep, ReplyUsage } from "./script.ts";

export interface ServerOptions {
  protocol: Protocol;
  script: ReplyScript;
  /** Ids listed by `GET …/models`. Default none. */
  models?: readonly string[];
}

/** A client that left before its reply was complete. */
export interface ClientClose {
  /** Number of the request. */
  request: number;
  framesSent: number;
}

export interface ModelServer {
  /** The base URL to configure, with the protocol's version path. */
  readonly url: string;
  /** Requests to the model, in order, without requests for the list of models. */
  readonly requests: RecordedRequest[];
  readonly clientCloses: ClientClose[];
  /** Number of connections that clients have opened. */
  readonly connections: number;
  /** Calls back at each early disconnect; at once for past ones. */
  onClientClose(listener: (close: ClientClose) => void): void;
  /** The first early disconnect. */
  clientClosed(): Promise<ClientClose>;
  close(): Promise<void>;
}

const WRITERS: Record<Protocol, (step: ReplyStep, context: ReplyContext) => Frame[]> = {
  "openai-responses": openAiResponses,
  "openai-completions": openAiCompletions,
  "anthropic-messages": anthropicMessages,
  google,
};

const PATHS: Record<Protocol, RegExp> = {
  "openai-responses": /^\/v1\/responses$/,
  "openai-completions": /^\/v1\/chat\/completions$/,
  "anthropic-messages": /^\/v1\/messages$/,
  google: /^\/v1beta\/models\/([^:]+):(?:streamGenerateContent|generateContent)$/,
};

/** Counts the tokens of a request; not recorded, and no step of the script. */
const COUNT_PATH = "/v1/messages/count_tokens";

export async function startServer(options: ServerOptions): Promise<ModelServer> {
  const state = new ServerState(options);
  const server = createServer((request, response) => {
    state.handle(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  let connections = 0;
  server.on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${options.protocol === "google" ? "/v1beta" : "/v1"}`,
    requests: state.requests,
    get connections() {
      return connections;
    },
    clientCloses: state.clientCloses,
    onClientClose: (listener) => state.onClientClose(listener),
    clientClosed: () => new Promise((resolve) => state.onClientClose(resolve)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class ServerState {
  readonly requests: RecordedRequest[] = [];
  readonly clientCloses: ClientClose[] = [];
  readonly #options: ServerOptions;
  readonly #listeners: ((close: ClientClose) => void)[] = [];

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  onClientClose(listener: (close: ClientClose) => void): void {
    this.#listeners.push(listener);
    for (const close of this.clientCloses) listener(close);
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { protocol, models, script } = this.#options;
    const url = new URL(incoming.url ?? "/", "http://localhost");
    if (incoming.method === "GET" && url.pathname.endsWith("/models")) {
      const data = (models ?? []).map((id) => ({ id, object: "model", owned_by: "scripted" }));
      return sendJson(response, 200, { object: "list", data });
    }
    if (protocol === "anthropic-messages" && url.pathname === COUNT_PATH)
      return sendJson(response, 200, { input_tokens: estimated(await readBody(incoming)) });
    const match = PATHS[protocol].exec(url.pathname);
    if (!match || incoming.method !== "POST") {
      return sendJson(response, 404, errorBody(protocol, 404, `no such path: ${url.pathname}`));
    }
    const text = await readBody(incoming);
    const request: RecordedRequest = {
      method: "POST",
      path: `${url.pathname}${url.search}`,
      headers: incoming.headers,
      body: JSON.parse(text) as Record<string, unknown>,
      text,
    };
    const index = this.requests.push(request) - 1;
    const step = typeof script === "function" ? await script(request, index) : script[index];
    if (!step) return sendJson(response, 400, errorBody(protocol, 400, `the script has no step ${index}`));
    if (step.status !== undefined && step.status >= 400) {
      const body = step.errorBody ?? errorBody(protocol, step.status, `scripted status ${step.status}`);
      return sendJson(response, step.status, body, step.headers);
    }
    if (step.page !== undefined) {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end(step.page);
      return;
    }
    const model = match[1] ?? String(request.body["model"]);
    const usage = step.usage === undefined ? countedUsage(request, step) : step.usage;
    const frames = WRITERS[protocol](step, { index, model, usage });
    const isStream =
      match[1] === undefined ? request.body["stream"] === true : url.pathname.includes(":stream");
    if (!isStream) {
      if (step.delayMs) await pause(step.delayMs);
      return sendWhole(response, step, protocol, frames);
    }
    if (step.malformed) frames.splice(1, 0, { data: '{"broken": ' });
    return this.#stream(response, step, frames, index);
  }

  async #stream(response: ServerResponse, step: ReplyStep, frames: Frame[], index: number): Promise<void> {
    let framesSent = 0;
    let ours = false;
    const left = new AbortController();
    response.on("close", () => {
      left.abort();
      if (ours || response.writableFinished) return;
      const close = { request: index, framesSent };
      this.clientCloses.push(close);
      for (const listener of this.#listeners) listener(close);
    });
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", ...step.headers });
    response.flushHeaders();
    const limit = Math.min(
      frames.length,
      step.cutAfterChunks ?? frames.length,
      step.hangAfterChunks ?? frames.length,
    );
    for (const frame of frames.slice(0, limit)) {
      if (step.delayMs) await pause(step.delayMs, undefined, { signal: left.signal }).catch(() => undefined);
      if (left.signal.aborted) return;
      response.write(`${frame.event === undefined ? "" : `event: ${frame.event}\n`}data: ${frame.data}\n\n`);
      framesSent++;
    }
    if (step.hangAfterChunks !== undefined) return;
    ours = true;
    if (step.cutAfterChunks === undefined) {
      response.end();
      return;
    }
    // The written bytes must reach the client before the socket is destroyed.
    response.write(": cut\n\n", () => setImmediate(() => response.destroy()));
  }
}

/** A token count like a provider's: about four characters a token, the same for the same request. */
function countedUsage(request: RecordedRequest, step: ReplyStep): ReplyUsage {
  const reply = [step.thinking?.text, step.text, JSON.stringify(step.toolCalls ?? "")].join("");
  return { input: estimated(request.text), output: Math.max(1, estimated(reply)) };
}

function estimated(text: string): number {
  return Math.ceil(text.length / 4);
}

/** The answer to a request without a stream; an event of an error is the provider's reply then. */
function sendWhole(response: ServerResponse, step: ReplyStep, protocol: Protocol, frames: Frame[]): void {
  const { errorEvent, malformed, cutAfterChunks, hangAfterChunks, headers } = step;
  if (hangAfterChunks !== undefined) return;
  if (errorEvent) return sendJson(response, 500, errorBody(protocol, 500, errorEvent.message), headers);
  if (malformed) return sendJson(response, 200, '{"broken": ', headers);
  const body = JSON.stringify(wholeAnswer(protocol, frames));
  if (cutAfterChunks === undefined) return sendJson(response, 200, body, headers);
  response.writeHead(200, { "content-type": "application/json", ...headers });
  // The written bytes must reach the client before the socket is destroyed.
  response.write(body.slice(0, body.length / 2), () => setImmediate(() => response.destroy()));
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
