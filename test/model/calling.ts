/** Helpers that call scripted servers, for the tests of this folder. */
import type { AssistantMessage } from "../../packages/contract/src/message.ts";
import type { ModelApi } from "../../packages/contract/src/model.ts";
import type { ModelEntryConfig, ProviderConfig } from "../../packages/core/src/config/config-types.ts";
import { resolveModel } from "../../packages/core/src/model/resolve.ts";
import { streamModel } from "../../packages/core/src/model/model-stream.ts";
import type { ModelPart, ModelRequest, ResolvedModel } from "../../packages/core/src/model/provider-types.ts";
import { startServer, type ModelServer, type Protocol, type ReplyScript } from "../servers/server.ts";

export const KEY = "sk-live-0123456789abcdef";

export const API: Record<Protocol, Exclude<ModelApi, "offline">> = {
  "openai-responses": "openai-responses",
  "openai-completions": "openai-completions",
  "anthropic-messages": "anthropic-messages",
  google: "google-generative-ai",
};
export const PROTOCOLS = Object.keys(API) as Protocol[];

export interface Calling {
  server: ModelServer;
  model: ResolvedModel;
  /** Streams one request to its end. */
  call(request: Partial<ModelRequest>): Promise<{ parts: ModelPart[]; message: AssistantMessage }>;
}

/** A server with a script and a model resolved against it, closed at the end of `work`. */
export async function withServer(
  protocol: Protocol,
  script: ReplyScript,
  work: (calling: Calling) => Promise<void>,
  overrides: { provider?: Partial<ProviderConfig>; model?: Partial<ModelEntryConfig> } = {},
): Promise<void> {
  const server = await startServer({ protocol, script });
  try {
    const model = modelAt(server.url, protocol, overrides);
    await work({ server, model, call: (request) => collect(model, request) });
  } finally {
    await server.close();
  }
}

export function modelAt(
  url: string,
  protocol: Protocol,
  overrides: { provider?: Partial<ProviderConfig>; model?: Partial<ModelEntryConfig> } = {},
): ResolvedModel {
  const entry: ModelEntryConfig = {
    id: "m-1",
    reasoning: true,
    input: ["text", "image"],
    cost: { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
    ...overrides.model,
  };
  const provider = { api: API[protocol], baseUrl: url, apiKey: KEY, models: [entry], ...overrides.provider };
  return resolveModel(`local/${entry.id}`, { models: { providers: { local: provider } } }, {});
}

export function requestOf(request: Partial<ModelRequest>): ModelRequest {
  return {
    system: "Be brief.",
    messages: [{ role: "user", content: "Hello" }],
    tools: [],
    signal: new AbortController().signal,
    retry: { baseMs: 1, maxMs: 5 },
    ...request,
  };
}

export async function collect(
  model: ResolvedModel,
  request: Partial<ModelRequest>,
): Promise<{ parts: ModelPart[]; message: AssistantMessage }> {
  const parts: ModelPart[] = [];
  for await (const part of streamModel(model, requestOf(request))) parts.push(part);
  const last = parts.at(-1);
  if (last?.type !== "finish") throw new Error("the stream has no finish part");
  return { parts, message: last.message };
}

export function textOf(message: AssistantMessage): string {
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
