import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import type { PagurusConfig, ProviderConfig } from "../../packages/core/src/config/config-types.ts";
import { catalogIds, KNOWN_PROVIDERS } from "../../packages/core/src/model/model-catalog.ts";
import { factsAssumed, resolveModel } from "../../packages/core/src/model/resolve.ts";
import { redact } from "../../packages/core/src/model/secret.ts";

function withProvider(id: string, provider: ProviderConfig): PagurusConfig {
  return { models: { providers: { [id]: provider } } };
}

test("every model of the catalog resolves with a key alone, and its facts are plausible", () => {
  const env = { OPENAI_API_KEY: "k-openai", ANTHROPIC_API_KEY: "k-anthropic", GOOGLE_API_KEY: "k-google" };
  for (const provider of ["openai", "anthropic", "google"]) {
    for (const id of catalogIds(provider)) {
      const { info, apiKey, baseUrl } = resolveModel(`${provider}/${id}`, {}, env);
      assert.ok(info.contextWindow >= 200_000 && info.maxTokens < info.contextWindow, info.ref);
      assert.ok((info.cost?.input ?? 0) > 0 && (info.cost?.output ?? 0) > (info.cost?.input ?? 0), info.ref);
      assert.equal(info.truncatesSilently, false);
      assert.equal(apiKey?.reveal(), `k-${provider}`);
      assert.equal(baseUrl, KNOWN_PROVIDERS[provider]?.baseUrl);
    }
  }
});

test("the models that discovery proposes are in the catalog", () => {
  for (const provider of ["openai", "anthropic", "google"]) {
    const proposed = KNOWN_PROVIDERS[provider]?.defaultModel ?? "";
    assert.ok(catalogIds(provider).includes(proposed), proposed);
  }
});

test("a dated id has the facts of its model", () => {
  const env = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" };
  assert.equal(resolveModel("anthropic/claude-haiku-4-5-20251001", {}, env).info.maxTokens, 64_000);
  assert.equal(resolveModel("openai/gpt-5.5-2026-04-23", {}, env).info.contextWindow, 1_050_000);
});

test("an unknown model of a known provider is allowed with modest defaults", () => {
  const { info } = resolveModel("openai/gpt-99", {}, { OPENAI_API_KEY: "k" });
  assert.equal(info.contextWindow, 128_000);
  assert.equal(info.maxTokens, 8_192);
  assert.equal(info.cost, undefined);
});

test("facts are assumed where neither the catalog nor the configuration sets the window", () => {
  const config = withProvider("openai", { models: [{ id: "mine", contextWindow: 9_000 }, { id: "named" }] });
  for (const ref of ["offline/extract", "openai/gpt-5.5", "openai/gpt-5.5-2026-04-23", "openai/mine"]) {
    assert.equal(factsAssumed(ref, config), false, ref);
  }
  for (const ref of ["openai/gpt-5.5x", "openai/named", "ollama/qwen3:8b", "nonsense"]) {
    assert.equal(factsAssumed(ref, config), true, ref);
  }
});

test("an alias names its model, whatever its case, and a mistyped one is proposed", () => {
  const config: PagurusConfig = {
    agents: { defaults: { models: { "openai/gpt-5.5": { alias: "Smart one" }, "openai/x": {} } } },
  };
  for (const name of ["Smart one", "smart ONE"])
    assert.equal(resolveModel(name, config, { OPENAI_API_KEY: "k" }).info.ref, "openai/gpt-5.5");
  assert.throws(() => resolveModel("smart on", config, {}), /Did you mean Smart one/);
});

test("a model id may hold slashes and colons", () => {
  const { info } = resolveModel("openrouter/qwen/qwen3-coder:free", {}, { OPENROUTER_API_KEY: "k" });
  assert.equal(info.provider, "openrouter");
  assert.equal(info.id, "qwen/qwen3-coder:free");
  assert.equal(info.api, "openai-completions");
});

test("Ollama needs no key and counts as truncating silently, unless overridden", () => {
  const { info, apiKey, baseUrl } = resolveModel("ollama/qwen3:8b", {}, {});
  assert.equal(baseUrl, "http://127.0.0.1:11434/v1");
  assert.equal(apiKey, undefined);
  assert.equal(info.contextWindow, 32_768);
  assert.equal(info.truncatesSilently, true);
  const models = [{ id: "qwen3:8b", contextWindow: 65_536, truncatesSilently: false }];
  const overridden = resolveModel("ollama/qwen3:8b", withProvider("ollama", { models }), {}).info;
  assert.equal(overridden.contextWindow, 65_536);
  assert.equal(overridden.truncatesSilently, false);
});

test("configured facts override the catalog's, and the others stay", () => {
  const config = withProvider("anthropic", {
    apiKey: "k",
    models: [{ id: "claude-haiku-4-5", maxTokens: 1_000, cost: { input: 9, output: 9 } }],
  });
  const { info } = resolveModel("anthropic/claude-haiku-4-5", config, {});
  assert.equal(info.maxTokens, 1_000);
  assert.deepEqual(info.cost, { input: 9, output: 9 });
  assert.equal(info.contextWindow, 200_000);
  assert.equal(info.promptCache, "marks");
});

test("the offline model needs nothing", () => {
  const { info } = resolveModel("offline/extract", {}, {});
  assert.equal(info.api, "offline");
  assert.equal(info.cost?.input, 0);
});

for (const [ref, near] of [
  ["gpt-5.5", /openai\/gpt-5\.5/],
  ["antropic/claude-sonnet-4-6", /anthropic\/claude-sonnet-4-6/],
  ["openai/", /openai/],
  ["", /provider\/model/],
  ["constructor/x", /provider\/model/],
] as const) {
  test(`model_unknown for "${ref}" proposes similar refs`, () => {
    assert.throws(() => resolveModel(ref, {}, {}), { code: "model_unknown", message: near });
  });
}

test("model_unknown proposes configured models too", () => {
  const config = withProvider("mine", {
    api: "openai-completions",
    baseUrl: "http://x",
    models: [{ id: "m-large" }],
  });
  assert.throws(() => resolveModel("mime/m-large", config, {}), {
    code: "model_unknown",
    message: /mean mine\/m-large/,
  });
});

test("a missing key is credential_missing and names the variable or configuration key to set", () => {
  const google = /GEMINI_API_KEY or GOOGLE_API_KEY, or models\.providers\.google\.apiKey/;
  assert.throws(() => resolveModel("google/gemini-2.5-pro", {}, {}), {
    code: "credential_missing",
    message: google,
  });
  assert.throws(() => resolveModel("openai/gpt-5.5", {}, { OPENAI_API_KEY: "  " }), {
    code: "credential_missing",
  });
});

test("a key comes literally from the configuration, from a variable, or from a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-key-"));
  try {
    writeFileSync(join(folder, "key"), "from-file\n");
    const env = { MY_KEY: "from-env", OPENAI_API_KEY: "unused", HOME: folder };
    const key = (apiKey: string | { file: string }): string | undefined =>
      resolveModel("openai/gpt-5.5", withProvider("openai", { apiKey }), env).apiKey?.reveal();
    assert.equal(key("literal"), "literal");
    assert.equal(key("${MY_KEY}"), "from-env");
    assert.equal(key({ file: join(folder, "key") }), "from-file");
    assert.equal(key({ file: "~/key" }), "from-file");
    assert.throws(() => key("${NOT_SET}"), {
      code: "credential_missing",
      message: /NOT_SET, which is not set/,
    });
    assert.throws(() => key({ file: join(folder, "none") }), { code: "credential_missing", message: /none/ });
    assert.throws(() => key(""), { code: "credential_missing" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("headers are resolved from the environment, and one that authenticates replaces the key", () => {
  const config = withProvider("openai", { headers: { Authorization: "Bearer ${GATEWAY_TOKEN}" } });
  const model = resolveModel("openai/gpt-5.5", config, { GATEWAY_TOKEN: "token-1" });
  assert.equal(model.apiKey, undefined);
  assert.deepEqual(model.headers.reveal(), { Authorization: "Bearer token-1" });
});

for (const [address, expected] of [
  ["https://proxy.example", "https://proxy.example/v1"],
  ["https://proxy.example/", "https://proxy.example/v1"],
  ["https://proxy.example/v1/", "https://proxy.example/v1"],
  ["https://proxy.example/openai", "https://proxy.example/openai"],
] as const) {
  test(`OPENAI_BASE_URL=${address} is used as ${expected}`, () => {
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: address };
    assert.equal(resolveModel("openai/gpt-5.5", {}, env).baseUrl, expected);
  });
}

test("ANTHROPIC_BASE_URL gets the version path, as Anthropic's own clients add it; the configuration wins", () => {
  const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "https://proxy.example/anthropic" };
  const ref = "anthropic/claude-haiku-4-5";
  assert.equal(resolveModel(ref, {}, env).baseUrl, "https://proxy.example/anthropic/v1");
  const config = withProvider("anthropic", { baseUrl: "http://127.0.0.1:1" });
  assert.equal(resolveModel(ref, config, env).baseUrl, "http://127.0.0.1:1/v1");
});

for (const [host, expected] of [
  ["0.0.0.0", "http://127.0.0.1:11434/v1"],
  [":8080", "http://127.0.0.1:8080/v1"],
  ["gpu-box:9000", "http://gpu-box:9000/v1"],
  ["https://ollama.example", "https://ollama.example/v1"],
] as const) {
  test(`OLLAMA_HOST=${host} is used as ${expected}`, () => {
    assert.equal(resolveModel("ollama/qwen3", {}, { OLLAMA_HOST: host }).baseUrl, expected);
  });
}

test("a custom provider needs an api and an address; the missing one is named", () => {
  const message = /models\.providers\.mine\.(?:api|baseUrl)/;
  for (const provider of [{ baseUrl: "http://x" }, { api: "openai-completions" as const }]) {
    assert.throws(() => resolveModel("mine/m", withProvider("mine", provider), {}), {
      code: "config_invalid",
      message,
    });
  }
  const broken = { api: "openai-completions" as const, baseUrl: "not a url sk-abcdefgh12345" };
  assert.throws(
    () => resolveModel("mine/m", withProvider("mine", broken), {}),
    (error: Error) => !error.message.includes("sk-abcdefgh12345"),
  );
});

test("a resolved model can be printed and serialized without its secrets", () => {
  const config = withProvider("openai", { headers: { "x-token": "header-secret" } });
  const model = resolveModel("openai/gpt-5.5", config, { OPENAI_API_KEY: "key-secret" });
  const printed = `${inspect(model, { depth: 9, showHidden: true })} ${JSON.stringify(model)} ${String(model.apiKey)}`;
  assert.doesNotMatch(printed, /key-secret|header-secret/);
  assert.equal(model.keySource, "OPENAI_API_KEY");
});

test("redaction removes known secrets, the longest first, and what looks like a key", () => {
  assert.equal(redact("a abcd abcdef", ["abcd", "abcdef", "a"]), "a [secret] [secret]");
  assert.equal(redact("key sk-ant-api03-AbC_123456 of you", []), "key [secret] of you");
});
