import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  configFromValue,
  loadConfig,
  type LoadedConfig,
} from "../../../packages/core/src/config/load-config.ts";
import { wrapConfig } from "../../../packages/gateway/src/wrap/setup.ts";
import { resolveModel } from "../../../packages/core/src/model/resolve.ts";

const HOME = "/nowhere/pagurus";
const provider = { id: "openai", baseUrl: "http://127.0.0.1:9/v1" };
const settings = { api: "openai-responses" as const, provider, models: [] };
const configOf = (config: unknown): LoadedConfig => configFromValue(config, HOME);

describe("the configuration for a wrapped program", () => {
  it("has an engine that governs if none is named, and the named one otherwise", () => {
    const engineOf = (loaded: LoadedConfig, engine?: string): string | undefined =>
      wrapConfig(loaded, { ...settings, engine }).plugins?.slots?.contextEngine;
    assert.equal(engineOf(loadConfig({ home: HOME })), "lossless");
    assert.equal(engineOf(configOf({})), "lossless");
    const named = configOf({ plugins: { slots: { contextEngine: "legacy" } } });
    assert.equal(engineOf(named), "legacy");
    assert.equal(engineOf(named, "lossless"), "lossless");
  });

  it("requests summaries from the program's endpoint, with the key of the environment", () => {
    const keyed = { ...provider, keyEnv: "TEAM_KEY", headers: { "x-team": "${TEAM}" } };
    const config = wrapConfig(configOf({}), { ...settings, provider: keyed });
    const found = resolveModel("openai/gpt-5.5", config, { TEAM_KEY: "the-key", TEAM: "blue" });
    assert.equal(found.baseUrl, provider.baseUrl);
    assert.equal(found.apiKey?.reveal(), "the-key");
    assert.deepEqual(found.headers.reveal(), { "x-team": "blue" });
    assert.ok(!JSON.stringify(config).includes("the-key"));
  });

  it("has no key if the program keeps it to itself", () => {
    const config = wrapConfig(configOf({}), settings);
    assert.throws(() => resolveModel("openai/gpt-5.5", config, {}), { code: "credential_missing" });
  });

  it("sends a configured key only to its own address", () => {
    const own = { api: "openai-responses", baseUrl: "http://127.0.0.1:8/v1", apiKey: "own-key" };
    const config = wrapConfig(configOf({ models: { providers: { openai: own } } }), settings);
    const found = resolveModel("openai/gpt-5.5", config, {});
    assert.deepEqual([found.baseUrl, found.apiKey?.reveal()], [own.baseUrl, "own-key"]);
    const keyAlone = wrapConfig(
      configOf({ models: { providers: { openai: { apiKey: "own-key" } } } }),
      settings,
    );
    const there = resolveModel("openai/gpt-5.5", keyAlone, {});
    assert.deepEqual([there.baseUrl, there.apiKey?.reveal()], ["https://api.openai.com/v1", "own-key"]);
  });

  it("has the requested window, for the models that the program may use", () => {
    const config = wrapConfig(configOf({}), { ...settings, models: ["odd"], contextWindow: 50_000 });
    for (const id of ["odd", "gpt-5.5"])
      assert.equal(resolveModel(`openai/${id}`, config, { OPENAI_API_KEY: "k" }).info.contextWindow, 50_000);
  });

  it("starts no servers, ends no turn by a deadline, and leaves the loaded configuration unchanged", () => {
    const loaded = configOf({
      mcp: { servers: { one: { command: "true" } } },
      agents: { defaults: { timeoutSeconds: 10 }, list: [{ id: "other", timeoutSeconds: 5 }] },
    });
    const before = structuredClone(loaded.config);
    const config = wrapConfig(loaded, settings);
    assert.equal(config.mcp, undefined);
    assert.equal(config.agents?.defaults?.timeoutSeconds, 2_000_000);
    assert.equal(config.agents.list?.[0]?.timeoutSeconds, 2_000_000);
    assert.deepEqual(loaded.config, before);
    assert.deepEqual(configOf(config).warnings, []);
  });
});
