/**
 * A local model server for conformance runs: it speaks OpenAI's Responses and Chat Completions, Anthropic's Messages and Google's
 * generateContent APIs, sends scripted answers, and records the requests.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropicMessages } from "./anthropic-messages.ts";
import { google, googlePath } from "./google.ts";
import { openAiCompletions } from "./openai-completions.ts";
import { openAiResponses } from "./openai-responses.ts";
import { seen, type SeenRequest } from "./seen.ts";
import type { Frame, Protocol, RecordedRequest, ReplyContext, ReplyStep } from "./script.ts";
import { wholeAnswer } from "./whole-answer.ts";

/** Answers a request; `index` is its number. */
export type Script = (request: SeenRequest, index: number) => ReplyStep | Promise<ReplyStep>;

type Write = (step: ReplyStep, context: ReplyContext) => Frame[];

const WRITERS: Readonly<Record<string, readonly [Protocol, Write]>> = {
  "/v1/responses": ["openai-responses", openAiResponses],
  "/v1/chat/completions": ["openai-completions", openAiCompletions],
  "/v1/messages": ["anthropic-messages", anthropicMessages],
};

export class ScriptedEndpoint {
  /** Requests to the model, in order. */
  readonly requests: SeenRequest[] = [];
  /** Number of connections closed by the client before the answer was complete. */
  left = 0;
  script: Script;
  /** Recognizes a request beside the conversation, such as one for a title: it is answered with words, and not recorded. */
  beside: (request: SeenRequest) => boolean = () => false;
  readonly #server: Server;

  private constructor(script: Script) {
    this.script = script;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : new Error(String(error)));
      });
    });
  }

  static async start(script: Script): Promise<ScriptedEndpoint> {
    const endpoint = new ScriptedEndpoint(script);
    await new Promise<void>((resolve) => endpoint.#server.listen(0, "127.0.0.1", resolve));
    return endpoint;
  }

  /** Base URL with the version's path, as a configuration has it. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/v1`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(incoming.url ?? "/", "http://localhost");
    const named = googlePath(path);
    const written: readonly [Protocol, Write] | undefined = named ? ["google", google] : WRITERS[path];
    if (!written || incoming.method !== "POST") {
      const listing = incoming.method === "GET" && path.endsWith("/models");
      return sendJson(response, listing ? 200 : 404, listing ? { object: "list", data: [] } : { error: {} });
    }
    const recorded = await read(incoming, path);
    if (named?.method === "countTokens") return sendJson(response, 200, { totalTokens: 100 });
    const request = seen(recorded);
    const isBeside = this.beside(request);
    const index = isBeside ? 0 : this.requests.push(request) - 1;
    const step = isBeside ? { text: "Aside." } : withNamespaces(await this.script(request, index), request);
    if (step.status !== undefined && step.status >= 400) {
      const message = `scripted status ${step.status}`;
      const refused = { error: { message, type: "invalid_request_error", param: null, code: null } };
      return sendJson(response, step.status, step.errorBody ?? refused);
    }
    const usage = step.usage === undefined ? { input: 100, output: 10 } : step.usage;
    const model = named?.model ?? String(recorded.body["model"]);
    const [protocol, write] = written;
    const frames = write(step, { index, model, usage });
    const isStream = named ? named.method === "streamGenerateContent" : recorded.body["stream"] === true;
    if (!isStream) return sendJson(response, 200, wholeAnswer(protocol, frames));
    // Without `alt=sse` a stream of Google's is one JSON list.
    if (named && searchParams.get("alt") !== "sse")
      return sendJson(
        response,
        200,
        frames.map(({ data }) => JSON.parse(data) as unknown),
      );
    this.#stream(response, step, frames);
  }

  #stream(response: ServerResponse, step: ReplyStep, frames: readonly Frame[]): void {
    response.on("close", () => {
      if (!response.writableFinished) this.left += 1;
    });
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    for (const frame of frames.slice(0, step.hangAfterChunks ?? frames.length)) {
      const event = frame.event === undefined ? "" : `event: ${frame.event}\n`;
      response.write(`${event}data: ${frame.data}\n\n`);
    }
    if (step.hangAfterChunks === undefined) response.end();
  }
}

/** Adds to each call the namespace in which its tool was offered. */
function withNamespaces(step: ReplyStep, { tools }: SeenRequest): ReplyStep {
  if (!step.toolCalls) return step;
  const toolCalls = step.toolCalls.map((call) => {
    const namespace = tools.find(({ name }) => name === call.name)?.namespace;
    return namespace === undefined ? call : { ...call, namespace };
  });
  return { ...step, toolCalls };
}

async function read(incoming: IncomingMessage, path: string): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const body = JSON.parse(text) as Record<string, unknown>;
  return { method: "POST", path, headers: incoming.headers, body, text };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
