/**
 * A local model server for conformance runs: it speaks OpenAI's Responses and Chat Completions, Anthropic's Messages and Google's
 * generateContent APIs, sends scripted answers, and records the requests.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropicMessages } from "./anthropic-messages.ts";
import { google, googlePath, wholeGoogle } from "./google.ts";
import { openAiCompletions } from "./openai-completions.ts";
import { openAiResponses } from "./openai-responses.ts";
import { seen, type SeenRequest } from "./seen.ts";
import type { Frame, RecordedRequest, ReplyStep, ReplyUsage } from "./script.ts";

/** Answers a request; `index` is its number. */
export type Script = (request: SeenRequest, index: number) => ReplyStep | Promise<ReplyStep>;

const WRITERS = {
  "/v1/responses": openAiResponses,
  "/v1/chat/completions": openAiCompletions,
  "/v1/messages": anthropicMessages,
};

export class ScriptedEndpoint {
  /** Requests to the model, in order. */
  readonly requests: SeenRequest[] = [];
  /** Number of connections closed by the client before the answer was complete. */
  left = 0;
  script: Script;
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
    const write = named ? google : Object.entries(WRITERS).find(([known]) => known === path)?.[1];
    if (!write || incoming.method !== "POST") {
      const listing = incoming.method === "GET" && path.endsWith("/models");
      return sendJson(response, listing ? 200 : 404, listing ? { object: "list", data: [] } : { error: {} });
    }
    const recorded = await read(incoming, path);
    if (named?.method === "countTokens") return sendJson(response, 200, { totalTokens: 100 });
    const request = seen(recorded);
    const index = this.requests.push(request) - 1;
    const step = withNamespaces(await this.script(request, index), request);
    if (step.status !== undefined && step.status >= 400) {
      const message = `scripted status ${step.status}`;
      const refused = { error: { message, type: "invalid_request_error", param: null, code: null } };
      return sendJson(response, step.status, step.errorBody ?? refused);
    }
    const usage = step.usage === undefined ? { input: 100, output: 10 } : step.usage;
    const model = named?.model ?? String(recorded.body["model"]);
    if (path.endsWith("completions") && recorded.body["stream"] !== true)
      return sendJson(response, 200, wholeCompletion(step, usage));
    const frames = write(step, { index, model, usage });
    if (named?.method === "generateContent") return sendJson(response, 200, wholeGoogle(frames));
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

/** The answer of a request without streaming. */
function wholeCompletion(step: ReplyStep, usage: ReplyUsage | null): Record<string, unknown> {
  const calls = (step.toolCalls ?? []).map(({ id, name, arguments: given }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  }));
  const message = {
    role: "assistant",
    content: step.text ?? null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const counted = usage && {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  };
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  return {
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason }],
    ...(counted ? { usage: counted } : {}),
  };
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
