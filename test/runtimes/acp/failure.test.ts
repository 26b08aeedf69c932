import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ModelInfo } from "../../../packages/contract/src/model.ts";
import { authMethodsOf } from "../../../packages/runtimes/src/acp/agents/auth-methods.ts";
import { accessOf } from "../../../packages/runtimes/src/acp/acp-access.ts";
import { RequestRefused, type AgentProcess } from "../../../packages/runtimes/src/acp/acp-process.ts";
import { agentFor } from "../../../packages/runtimes/src/acp/agents.ts";
import { refusal } from "../../../packages/runtimes/src/acp/acp-failure.ts";
import { usageOf } from "../../../packages/runtimes/src/acp/acp-native-turn.ts";

const AGENT = {
  agent: { id: "a", label: "The agent" },
  traits: { authMethods: authMethodsOf([{ id: "key", name: "A key" }, {}]) },
} as unknown as AgentProcess;

function refused(message: string, code = -32_603, data?: unknown): { code: string; message: string } {
  return refusal(new RequestRefused(message, code, data), AGENT);
}

describe("an agent's error response", () => {
  for (const [message, data, code] of [
    ["Internal error: Prompt is too long · the request is ~213462 tokens", undefined, "context_overflow"],
    ["Internal error", { details: "API Error: 401 invalid x-api-key" }, "model_auth"],
    ["Internal error", "429 Too Many Requests", "model_rate_limited"],
    ["We’re currently experiencing high demand", undefined, "model_unavailable"],
    ['{"error":{"message":"bad tool","type":"invalid_request_error"}}', undefined, "model_bad_request"],
    ["Something else", undefined, "runtime_failed"],
  ] as const)
    it(`is ${code} by its message: ${message.slice(0, 40)}`, () => {
      assert.equal(refused(message, -32_603, data).code, code);
    });

  it("is one sentence without markup and bodies", () => {
    assert.match(
      refused("<html><title>x</title><h1>502 Bad Gateway</h1></html>").message,
      /with an error: 502 Bad Gateway\. The conversation is kept;/,
    );
    assert.match(
      refused('{"error":{"message":"bad tool"}}').message,
      /with an error: bad tool\. The conversation/,
    );
    assert.match(refused("").message, /it gave no reason\./);
  });

  it("names the ways to log in", () => {
    const { code, message } = refused("Authentication required", -32_000);
    assert.deepEqual([code, /asks for a login \(it offers: A key\);/.test(message)], ["model_auth", true]);
  });
});

describe("the usage that an agent reports", () => {
  it("is taken unchanged, with cached tokens separate or included in the input", () => {
    const beside = usageOf({
      usage: { inputTokens: 10, outputTokens: 5, cachedReadTokens: 90, totalTokens: 105 },
    });
    const among = usageOf({
      usage: { inputTokens: 100, outputTokens: 5, cachedReadTokens: 90, totalTokens: 105 },
    });
    assert.deepEqual(beside, { input: 10, output: 5, cacheRead: 90, totalTokens: 105 });
    assert.deepEqual(among, beside);
  });

  it("is the quota of Gemini CLI", () => {
    const quota = { token_count: { input_tokens: 100, output_tokens: 5 } };
    assert.deepEqual(usageOf({ _meta: { quota } }), { input: 100, output: 5, totalTokens: 105 });
  });

  it("is that of an answer of Qwen Code's model", () => {
    const usage = {
      inputTokens: 2023,
      outputTokens: 56,
      totalTokens: 2079,
      thoughtTokens: 0,
      cachedReadTokens: 789,
    };
    assert.deepEqual(usageOf({ _meta: { usage, durationMs: 1996 } }), {
      input: 1234,
      output: 56,
      cacheRead: 789,
      reasoning: 0,
      totalTokens: 2079,
    });
  });

  it("is undefined when counts are missing", () => {
    for (const usage of [undefined, null, {}, { inputTokens: 1 }, { inputTokens: "1", outputTokens: 1 }])
      assert.equal(usageOf({ usage }), undefined);
  });
});

describe("an agent's access to the model", () => {
  const endpoint = { baseUrl: "http://h/v1", headers: { authorization: "Bearer K", "x-team": "t" } };
  const of = (id: string, api: ModelInfo["api"], entry: object = {}, env: Record<string, string> = {}) =>
    accessOf(
      agentFor({ agents: { [id]: { command: "c", ...entry } } }, id, { ref: "p/m", provider: "p" }),
      { model: { api, id: "m", ref: "p/m", provider: "p" } as ModelInfo, cwd: "/work" },
      { endpoint: () => endpoint, env, home: "/none", trusts: () => true },
    );

  it("is its environment for Claude Agent and Gemini, without an endpoint request", () => {
    const claude = of("claude", "anthropic-messages");
    const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_CUSTOM_HEADERS, ANTHROPIC_MODEL } = claude.env;
    assert.deepEqual(
      [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_CUSTOM_HEADERS, ANTHROPIC_MODEL],
      ["http://h", "K", "x-team: t", "m"],
    );
    assert.equal(claude.isAsked, false);
    assert.deepEqual(of("gemini", "google-generative-ai").env["GEMINI_API_KEY"], "K");
  });

  it("is its configuration for the model of Codex, with an endpoint request", () => {
    const codex = of(
      "codex",
      "openai-responses",
      {},
      { CODEX_CONFIG: '{"features":{"x":true},"model":"other"}' },
    );
    assert.deepEqual(JSON.parse(codex.env["CODEX_CONFIG"] ?? ""), { features: { x: true }, model: "m" });
    assert.equal(codex.isAsked, true);
  });

  it("is the agent's own when the user wants that", () => {
    const own = of("claude", "anthropic-messages", { login: "own" });
    assert.deepEqual([own.endpoint, own.env, own.isAsked, own.key], [undefined, {}, false, ""]);
  });

  it("keeps the user's settings for the agent", () => {
    const claude = of("claude", "anthropic-messages", { env: { ANTHROPIC_BASE_URL: "http://mine" } });
    assert.equal(claude.env["ANTHROPIC_BASE_URL"], undefined);
    const codex = of("codex", "openai-responses", { env: { CODEX_CONFIG: '{"a":1}' } });
    assert.deepEqual(JSON.parse(codex.env["CODEX_CONFIG"] ?? ""), { a: 1, model: "m" });
  });

  it("is a process of its own for each endpoint", () => {
    assert.notEqual(of("codex", "openai-responses").key, of("codex", "openai-completions").key);
  });
});
