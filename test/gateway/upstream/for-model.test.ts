import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelApi, ModelInfo } from "../../../packages/contract/src/model.ts";
import type { Dialect } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { upstreamFor } from "../../../packages/gateway/src/upstream/for-model.ts";
import { Secret } from "../../../packages/core/src/model/secret.ts";
import type { ResolvedModel } from "../../../packages/core/src/model/provider-types.ts";
import { rawEndpoint } from "../server/support.ts";

const KEYS = [
  ..."Authorization X-Api-Key Api-Key X-Goog-Api-Key Cookie OpenAI-Organization OpenAI-Project ChatGPT-Account-Id".split(
    " ",
  ),
  ..."X-Auth-Token CF-Access-Client-Secret X-Team-Secret X-Codex-Turn-Metadata Proxy-Authorization x-other".split(
    " ",
  ),
];
const HARNESS = [...KEYS.flatMap((name) => [name, "harness-key"]), "anthropic-version", "2023-06-01"];

function modelAt(baseUrl: string, api: ModelApi, key?: string, headers = {}): ResolvedModel {
  const info: ModelInfo = {
    ref: "local/m",
    provider: "local",
    id: "m",
    api,
    contextWindow: 1_000,
    maxTokens: 100,
    reasoning: false,
    input: ["text"],
    promptCache: "none",
    truncatesSilently: false,
  };
  return {
    info,
    baseUrl,
    headers: new Secret(headers),
    ...(key === undefined ? {} : { apiKey: new Secret(key) }),
  };
}

type Direct = "openai-completions" | "anthropic-messages" | "google-generative-ai";

/** The headers that could reveal a key to the endpoint. */
async function keyHeaders(api: Direct, key?: string, headers = {}) {
  const endpoint = await rawEndpoint((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  try {
    const upstream = upstreamFor(modelAt(endpoint.baseUrl, api, key, headers), api, "main");
    const answer = await upstream.send({
      method: "POST",
      path: "/x",
      rawHeaders: HARNESS,
      body: [],
      read: undefined,
      dialect: {} as Dialect,
      signal: new AbortController().signal,
    });
    answer.stream.resume();
    const sent = endpoint.asked[0]?.headers ?? [];
    const pairs = sent.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), sent[at + 1]]] : []));
    return pairs.filter(([name]) => name !== "host" && name !== "content-length");
  } finally {
    await endpoint.close();
  }
}

test("a model of the host gets the host's key and never the harness's, even if it needs none", async () => {
  const other = ["anthropic-version", "2023-06-01"];
  assert.deepEqual(await keyHeaders("openai-completions"), [other]);
  assert.deepEqual(await keyHeaders("openai-completions", "host-key"), [
    other,
    ["authorization", "Bearer host-key"],
  ]);
  assert.deepEqual(await keyHeaders("anthropic-messages", "host-key"), [other, ["x-api-key", "host-key"]]);
  assert.deepEqual(await keyHeaders("google-generative-ai", "host-key"), [
    other,
    ["x-goog-api-key", "host-key"],
  ]);
  assert.deepEqual(await keyHeaders("google-generative-ai"), [other]);
});

test("of the harness's headers only those of the protocol reach another provider (finding F13)", async () => {
  for (const api of ["openai-completions", "anthropic-messages", "google-generative-ai"] as const) {
    const sent = await keyHeaders(api, "host-key");
    assert.deepEqual(sent[0], ["anthropic-version", "2023-06-01"]);
    assert.equal(sent.length, 2);
    assert.ok(!JSON.stringify(sent).includes("harness-key"));
  }
});

test("a configured header overrides the key, in any spelling of its name", async () => {
  const headers = { Authorization: "Bearer of-the-config" };
  assert.deepEqual(await keyHeaders("openai-completions", "host-key", headers), [
    ["anthropic-version", "2023-06-01"],
    ["authorization", "Bearer of-the-config"],
  ]);
});

test("captures get the secret values, of a translated model too", () => {
  const headers = { authorization: "Bearer a-token-of-the-config", "x-team": "blue" };
  for (const api of ["openai-completions", "anthropic-messages"] as const) {
    const upstream = upstreamFor(
      modelAt("http://127.0.0.1:9", api, "host-key", headers),
      "openai-completions",
      "main",
    );
    assert.deepEqual(upstream.secrets, ["host-key", "a-token-of-the-config"]);
  }
});
