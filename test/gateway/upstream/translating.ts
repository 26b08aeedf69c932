/** Requests of harnesses to a translating upstream, for the tests of this folder. */
import { completionsDialect } from "../../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import { generateContentDialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { Dialect, WireAnswer, WireApi } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import { translatingUpstream } from "../../../packages/gateway/src/upstream/translate/translate-upstream.ts";
import type { UpstreamAnswer } from "../../../packages/gateway/src/upstream/upstream.ts";
import { streamModel } from "../../../packages/core/src/model/model-stream.ts";
import type { ResolvedModel } from "../../../packages/core/src/model/provider-types.ts";

export type Body = Record<string, unknown>;

export const DIALECTS: Readonly<Record<WireApi, { dialect: Dialect; path: string }>> = {
  "openai-responses": { dialect: responsesDialect, path: "/responses" },
  "anthropic-messages": { dialect: messagesDialect, path: "/messages?beta=true" },
  "openai-completions": { dialect: completionsDialect, path: "/chat/completions" },
  "google-generative-ai": {
    dialect: generateContentDialect,
    path: "/v1beta/models/harness-model:streamGenerateContent?alt=sse",
  },
};
export const APIS = Object.keys(DIALECTS) as WireApi[];

/** Of Google's protocol the path states whether the answer is a stream. */
function pathOf({ api, body, path }: Asking): string {
  if (path !== undefined) return path;
  const isWhole = api === "google-generative-ai" && typeof body === "object" && body["stream"] === false;
  return isWhole ? "/v1beta/models/harness-model:generateContent" : DIALECTS[api].path;
}

export interface Asking {
  api: WireApi;
  body: Body | string;
  path?: string;
  method?: string;
  signal?: AbortSignal;
  aliveMs?: number;
  /** The original, if a splice has removed a part of it. */
  original?: Body;
}

/** The upstream's answer to a request as the gateway gets it. */
export function send(model: ResolvedModel, asking: Asking): Promise<UpstreamAnswer> {
  const { api, body, ...more } = asking;
  const upstream = translatingUpstream({
    model,
    sessionKey: "s-1",
    ...(more.aliveMs === undefined ? {} : { aliveMs: more.aliveMs }),
    stream: (to, request) => streamModel(to, { ...request, retry: { attempts: 3, baseMs: 1, maxMs: 2 } }),
  });
  const { dialect } = DIALECTS[api];
  const path = pathOf(asking);
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const method = more.method ?? "POST";
  const content =
    more.original ?? (typeof body === "string" ? { messages: [], input: [], contents: [] } : body);
  const original = Buffer.from(JSON.stringify(content));
  return upstream.send({
    method,
    path,
    rawHeaders: ["Content-Type", "application/json"],
    // As after a splice.
    body: [bytes.subarray(0, 9), bytes.subarray(9)],
    read: method === "POST" ? dialect.read(path, {}, original) : undefined,
    dialect,
    signal: more.signal ?? new AbortController().signal,
  });
}

export async function bytesOf({ stream }: UpstreamAnswer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** As the harness reads it. */
export async function answerOf(api: WireApi, answer: UpstreamAnswer): Promise<WireAnswer> {
  const reader = DIALECTS[api].dialect.reader(answer.status, answer.headers);
  reader.take(await bytesOf(answer));
  return reader.end();
}

export async function ask(model: ResolvedModel, asking: Asking): Promise<WireAnswer> {
  return answerOf(asking.api, await send(model, asking));
}
