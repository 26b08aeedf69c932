/** A host with the model API on an HTTP server, in front of a scripted model. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPagurus } from "../../packages/app/src/app.ts";
import { loadConfig } from "../../packages/core/src/config/load-config.ts";
import type { ContextEngineFactory } from "../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { AgentTurnRequest } from "../../packages/server/src/model-api/agent-turn.ts";
import { modelApiHarness } from "../../packages/server/src/model-api/api-harness.ts";
import { createModelApi, type ModelApi } from "../../packages/server/src/model-api/model-api.ts";
import { JsonThread } from "../../packages/core/src/platform/json/json-thread.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { startServer, type ModelServer, type Protocol, type ReplyScript } from "../servers/server.ts";
import { makeSetting, modelConfig, type ModelOptions, type Setting } from "../turn/setting.ts";

export interface Reply {
  status: number;
  text: string;
  json: Record<string, unknown>;
}

export class ApiBench {
  readonly model: ModelServer;
  readonly setting: Setting;
  pagurus!: Pagurus;
  api!: ModelApi;
  url = "";
  readonly #engines: Record<string, ContextEngineFactory>;
  #stop: () => Promise<void> = () => Promise.resolve();

  private constructor(model: ModelServer, setting: Setting, engines: Record<string, ContextEngineFactory>) {
    this.model = model;
    this.setting = setting;
    this.#engines = engines;
  }

  static async open(
    protocol: Protocol,
    script: ReplyScript,
    options: ModelOptions = {},
    engine: string | ContextEngineFactory = "legacy",
    plugins: Record<string, unknown> = {},
    agents: { id: string }[] = [],
  ): Promise<ApiBench> {
    const model = await startServer({ protocol, script });
    const config = modelConfig(protocol, model.url, options, {
      plugins: { ...plugins, slots: { contextEngine: typeof engine === "string" ? engine : "own" } },
      agents: { list: agents },
    });
    const bench = new ApiBench(model, makeSetting(config), typeof engine === "string" ? {} : { own: engine });
    await bench.start();
    return bench;
  }

  /** A server over the home; the bearer token is the token's id. */
  async start(): Promise<void> {
    const { home, env, workspace } = this.setting;
    const harness = modelApiHarness();
    this.pagurus = await createPagurus({ home, env, harnesses: [harness], engines: this.#engines });
    const loaded = loadConfig({ home });
    const { pagurus } = this;
    const turns = {
      run: ({ sessionKey, agentId, prompt, parts, additionalContext, signal }: AgentTurnRequest) =>
        pagurus.run({ sessionKey, agentId, prompt, parts, additionalContext, signal, cwd: workspace }),
    };
    const json = new JsonThread();
    const api = createModelApi({
      turns,
      json,
      maxBodyBytes: 32 * 2 ** 20,
      home,
      env,
      loaded,
      logger: silentLogger,
      agentId: "main",
      pagurus,
      harness,
    });
    this.api = api;
    const server = createServer((request, response) => {
      const tokenId = (request.headers.authorization ?? "").replace("Bearer ", "") || "one";
      void api.serve(request, response, {
        tokenId,
        folder: workspace,
        allowsSession: (key) => key !== "forbidden",
        allowsAgent: () => true,
      });
    });
    // On a busy machine a client would send on a connection that the server has just closed.
    server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    this.#stop = async () => {
      await json.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    };
  }

  async stop(): Promise<void> {
    await this.#stop();
    await this.api.close();
    await this.pagurus.close();
  }

  async end(): Promise<void> {
    await this.stop();
    await this.model.close();
    this.setting.remove();
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    return this.call("POST", path, body, headers);
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Reply> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    const text = await response.text();
    const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
    return { status: response.status, text, json };
  }

  /** Sends a conversation of Chat Completions and returns the answer's text. */
  async chat(
    words: readonly string[],
    token = "one",
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<string> {
    const messages = words.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
    const body = { model: "test/model", stream: true, messages };
    const sent = { authorization: `Bearer ${token}`, ...headers };
    const { status, text } = await this.call("POST", "/chat/completions", body, sent, signal);
    if (status !== 200) throw new Error(text);
    return streamedText(text);
  }

  sessionKeys(): string[] {
    const records = this.pagurus.sessions("main").list();
    return records.filter(({ current }) => current).map(({ sessionKey }) => sessionKey);
  }

  /** The words of a session, oldest first. */
  async words(sessionKey: string): Promise<string[]> {
    const reader = this.pagurus.sessions("main").openReader(sessionKey);
    const words: string[] = [];
    try {
      for await (const entry of reader.cursor.backward()) {
        if (entry.type !== "message") continue;
        const { content } = entry.message;
        const text =
          typeof content === "string"
            ? content
            : content.map((part) => ("text" in part ? part.text : "")).join("");
        words.unshift(text);
      }
    } finally {
      reader.close();
    }
    return words;
  }
}

export function streamedText(text: string): string {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as { choices?: { delta?: { content?: string } }[] })
    .map(({ choices }) => choices?.[0]?.delta?.content ?? "")
    .join("");
}
