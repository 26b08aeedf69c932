/** A route from end to end: a client, the gateway's server, a governor of the test's, an upstream that records. */
import type { TestClock } from "../runner/test-clock.ts";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import type { WireAnswer } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import type { ExchangeFacts } from "../../packages/gateway/src/request/exchange.ts";
import type { NamedAnswers } from "../../packages/gateway/src/request/route-facts.ts";
import { createModelGateway, type GovernedRoute } from "../../packages/gateway/src/gateway.ts";
import type { Governed, Governor } from "../../packages/gateway/src/governor/governor.ts";
import { directUpstream } from "../../packages/gateway/src/upstream/direct.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";

export interface Seen {
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Answers in turn; the last one is repeated. */
export type Answer = (response: ServerResponse, seen: Seen) => void | Promise<void>;

export const DONE: Answer = (response) => {
  response.writeHead(200, { "content-type": "text/event-stream", "x-kept": "yes" });
  const say = (delta: object, more: object = {}): void => {
    response.write(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`,
    );
  };
  say({ role: "assistant", content: "The berth " });
  say({ content: "is free." });
  say({}, { finish_reason: "stop" });
  response.write(
    `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 40, completion_tokens: 7 } })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
};

export const TOO_LONG: Answer = (response) => {
  response.writeHead(400, { "content-type": "application/json" });
  const message = "This model's maximum context length is 100 tokens.";
  response.end(
    JSON.stringify({ error: { message, type: "invalid_request_error", code: "context_length_exceeded" } }),
  );
};

interface BenchOptions {
  diagnosesCache?: boolean;
  named?: NamedAnswers;
  /** Default: the machine's. */
  clock?: TestClock;
}

export class Bench {
  readonly #api: WireApi;
  readonly #diagnosesCache: boolean;
  readonly #named: NamedAnswers | undefined;
  readonly seen: Seen[] = [];
  readonly calls: string[] = [];
  readonly answers: WireAnswer[] = [];
  readonly facts: ExchangeFacts[] = [];
  readonly clock: TestClock | undefined;
  readonly #gateway: ReturnType<typeof createModelGateway>;
  #server: Server | undefined;
  #route: GovernedRoute | undefined;

  constructor(
    api: WireApi = "openai-completions",
    { diagnosesCache = false, named, clock }: BenchOptions = {},
  ) {
    this.#api = api;
    this.clock = clock;
    this.#gateway = createModelGateway({
      logger: silentLogger,
      resolve: () => assert.fail("not asked"),
      clock,
    });
    this.#named = named;
    this.#diagnosesCache = diagnosesCache;
  }

  async open(governor: Partial<Governor>, ...script: Answer[]): Promise<void> {
    const server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const seen = { path: request.url ?? "", headers: request.headers, body };
        this.seen.push(seen);
        return (script[this.seen.length - 1] ?? script.at(-1) ?? DONE)(response, seen);
      });
    });
    this.#server = server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const upstream = directUpstream({ baseUrl, label: baseUrl, diagnosesCache: this.#diagnosesCache });
    this.#route = await this.#gateway.openRoute({
      api: this.#api,
      sessionKey: "main",
      runtime: "test",
      named: this.#named,
      onExchange: (facts) => this.facts.push(facts),
      governor: {
        main: async () => undefined,
        compaction: async () => undefined,
        upstream: () => upstream,
        sent: (_request, { request }) => void this.calls.push(`sent ${request}`),
        answered: (_request, answer, { request, isAborted }) => {
          this.calls.push(`answered ${request}${isAborted ? " aborted" : ""}`);
          this.answers.push(answer);
        },
        ...governor,
      },
    });
  }

  ask(
    body: string,
    more: { path?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { baseUrl, headers } = this.address;
    return fetch(`${baseUrl}${more.path ?? "/chat/completions?x=1"}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: "Bearer own-key",
        ...headers,
        ...more.headers,
      },
      body,
      ...(more.signal ? { signal: more.signal } : {}),
    });
  }

  get address(): Pick<GovernedRoute, "baseUrl" | "headers"> {
    return this.#route ?? assert.fail("no route");
  }

  async end(): Promise<void> {
    await this.#route?.close();
    await this.#gateway.close();
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const MESSAGES = [
  { role: "system", content: "rules" },
  { role: "user", content: "one" },
  { role: "assistant", content: "first" },
  { role: "user", content: "two" },
];
export const BODY = JSON.stringify({ model: "m", stream: true, messages: MESSAGES });

export function user(text: string): AgentMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

export function governed(...messages: AgentMessage[]): Governed {
  return { context: { messages, historyCount: messages.length - 1 }, isOriginal: () => false };
}

export function wordsOf({ body }: Seen): string[] {
  const { messages } = JSON.parse(body) as { messages: { content: unknown }[] };
  return messages.map(({ content }) =>
    typeof content === "string" ? content : (content as { text: string }[]).map(({ text }) => text).join(),
  );
}
