import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { defaultModel } from "../../packages/core/src/model/default-model.ts";
import { discover, servedModels } from "../../packages/core/src/model/discover.ts";
import { startServer } from "../servers/server.ts";

const QUIET = { PAGURUS_NO_PROBE: "1" };

test("keys of the environment are found in a fixed order, and their values are not revealed", async () => {
  const env = { ...QUIET, GEMINI_API_KEY: "value-google", ANTHROPIC_API_KEY: "value-anthropic" };
  const found = await discover({}, env);
  assert.deepEqual(
    found.map(({ kind, id, source }) => [kind, id, source]),
    [
      ["key", "anthropic", "ANTHROPIC_API_KEY"],
      ["key", "google", "GEMINI_API_KEY"],
    ],
  );
  assert.doesNotMatch(JSON.stringify(found), /value-/);
});

test("a local server is queried for its models, and the first that can chat is proposed", async () => {
  const models = ["nomic-embed-text", "qwen3:8b"];
  const server = await startServer({ protocol: "openai-completions", script: [], models });
  try {
    const env = { OLLAMA_HOST: new URL(server.url).host };
    const config = { models: { providers: { lmstudio: { baseUrl: "http://127.0.0.1:1/v1" } } } };
    const found = await discover(config, env, { timeoutMs: 5_000 });
    assert.deepEqual(found, [
      { kind: "server", id: "ollama", source: server.url, models, ref: "ollama/qwen3:8b" },
    ]);
    const chosen = await defaultModel(config, env, { timeoutMs: 5_000 });
    assert.deepEqual(chosen, { ref: "ollama/qwen3:8b", source: `found ${server.url}` });
  } finally {
    await server.close();
  }
});

test("a server with a late or unexpected answer is not found", async () => {
  const server = createServer((request, response) => {
    if (request.url === "/ollama/v1/models") return;
    response.end("<html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const config = {
      models: {
        providers: { ollama: { baseUrl: `${origin}/ollama/v1` }, lmstudio: { baseUrl: `${origin}/v1` } },
      },
    };
    assert.deepEqual(await discover(config, {}, { timeoutMs: 20 }), []);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("a configured model of a direct surface is not proposed for conversations", async () => {
  const paints = { id: "paints", surfaces: ["images" as const] };
  const providers = {
    lab: { baseUrl: "http://127.0.0.1:1/v1", models: [paints, { id: "talks" }] },
    studio: { baseUrl: "http://127.0.0.1:2/v1", models: [paints] },
    openai: { apiKey: "x", models: [{ id: "gpt-image-1" }] },
  };
  const refs = (await discover({ models: { providers } }, QUIET)).map(({ ref }) => ref);
  assert.deepEqual(refs, ["lab/talks", "openai/gpt-5.6-terra"]);
});

test("the models that a provider serves are read over each protocol that lists them, and never from one page of several", async () => {
  const models = ["small", "large"];
  for (const protocol of ["openai-completions", "openai-responses", "anthropic-messages"] as const) {
    const server = await startServer({ protocol, models, script: () => ({ text: "" }) });
    const config = { models: { providers: { lab: { api: protocol, baseUrl: server.url, apiKey: "k" } } } };
    assert.deepEqual(await servedModels("lab/othr", { config, env: QUIET }), models, protocol);
    await server.close();
  }
  const paged = createServer((_, response) => response.end('{"data":[{"id":"small"}],"has_more":true}'));
  await new Promise<void>((resolve) => paged.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(paged.address() as AddressInfo).port}/v1`;
  const config = {
    models: { providers: { lab: { api: "anthropic-messages" as const, baseUrl, apiKey: "k" } } },
  };
  assert.equal(await servedModels("lab/othr", { config, env: QUIET }), undefined);
  paged.closeAllConnections();
  paged.close();
});

test("installed agents are named, and propose no model", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-path-"));
  try {
    for (const name of ["codex", "claude"]) {
      writeFileSync(join(folder, name), "#!/bin/sh\n");
      chmodSync(join(folder, name), 0o755);
    }
    const env = { ...QUIET, PATH: `/does/not/exist:${folder}` };
    assert.deepEqual(await discover({}, env), [
      { kind: "agent", id: "codex", source: join(folder, "codex") },
      { kind: "agent", id: "claude-cli", source: join(folder, "claude") },
    ]);
    assert.equal((await defaultModel({}, env)).ref, "offline/extract");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the default model: configuration, then a configured provider, then a key, then the offline model", async () => {
  const provider = { api: "openai-completions" as const, baseUrl: "http://x/v1", models: [{ id: "m" }] };
  const models = { providers: { mine: provider } };
  const env = { ...QUIET, OPENAI_API_KEY: "k" };
  const defaults = { model: { primary: "mine/other" } };
  assert.deepEqual(await defaultModel({ agents: { defaults }, models }, env), {
    ref: "mine/other",
    source: "agents.defaults.model",
  });
  assert.equal((await defaultModel({ models }, env)).ref, "mine/m");
  assert.deepEqual(await defaultModel({}, env), {
    ref: "openai/gpt-5.6-terra",
    source: "found OPENAI_API_KEY",
  });
  assert.deepEqual(await defaultModel({}, QUIET), { ref: "offline/extract", source: "no model was found" });
});
