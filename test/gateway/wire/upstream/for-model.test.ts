import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelApi, ModelInfo } from "../../../../src/contract/model.ts";
import type { Dialect } from "../../../../src/gateway/wire/dialect/dialect.ts";
import { upstreamFor } from "../../../../src/gateway/wire/upstream/for-model.ts";
import { Secret } from "../../../../src/model/secret.ts";
import type { ResolvedModel } from "../../../../src/model/types.ts";
import { rawEndpoint } from "../server/support.ts";

const HARNESS = ["Authorization", "Bearer harness-key", "X-Api-Key", "harness-key", "x-other", "1"];

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

/** The headers of which the endpoint could learn a key. */
async function told(api: "openai-completions" | "anthropic-messages", key?: string, headers = {}) {
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

test("a model of the host is told the host's key and never the harness's, also where it needs none", async () => {
  const other = ["x-other", "1"];
  assert.deepEqual(await told("openai-completions"), [other]);
  assert.deepEqual(await told("openai-completions", "host-key"), [
    other,
    ["authorization", "Bearer host-key"],
  ]);
  assert.deepEqual(await told("anthropic-messages", "host-key"), [other, ["x-api-key", "host-key"]]);
});

test("a header of the configuration stands for the key, however its name is written", async () => {
  const headers = { Authorization: "Bearer of-the-config" };
  assert.deepEqual(await told("openai-completions", "host-key", headers), [
    ["x-other", "1"],
    ["authorization", "Bearer of-the-config"],
  ]);
});

test("captures learn which values are secret, of a translated model too", () => {
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
