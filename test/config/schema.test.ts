import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { checkConfig } from "../../packages/core/src/config/config-problems.ts";
import { configJsonSchema, SCHEMA_FINGERPRINT } from "../../packages/core/src/config/config-schema.ts";

function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value);
}

describe("the schema of the configuration", () => {
  it("has the fingerprint that marks validated files (on failure: put the actual value into schema.ts)", () => {
    // The wording of descriptions invalidates no file.
    const shape = JSON.stringify(configJsonSchema(), (key, value: unknown) =>
      key === "description" && typeof value === "string" ? undefined : value,
    );
    const hash = createHash("sha256").update(shape).digest("hex");
    assert.equal(hash.slice(0, 16), SCHEMA_FINGERPRINT);
  });

  it("is JSON Schema that allows unknown keys", () => {
    const schema = configJsonSchema();
    assert.equal(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert.equal(schema["additionalProperties"], undefined);
    const agent = at(schema, "properties", "agents", "properties", "defaults");
    assert.deepEqual(at(agent, "properties", "permission", "properties", "mode", "enum"), [
      "read-only",
      "deny",
      "ask",
      "sandbox",
      "auto",
    ]);
    assert.equal(at(agent, "properties", "maxSteps", "minimum"), 1);
  });

  it("refuses seconds beyond a timer's range, and names the maximum", () => {
    const long = { timeoutSeconds: 2_000_001 };
    const { problems } = checkConfig({
      agents: {
        defaults: { ...long, compaction: long, engineDeadlines: { settle: 3e6 } },
        list: [{ id: "a", ...long }],
      },
    });
    assert.deepEqual(problems.toSorted(), [
      "agents.defaults.compaction.timeoutSeconds must be at most 2000000, but is 2000001.",
      "agents.defaults.engineDeadlines.settle must be at most 2000000, but is 3000000.",
      "agents.defaults.timeoutSeconds must be at most 2000000, but is 2000001.",
      "agents.list[0].timeoutSeconds must be at most 2000000, but is 2000001.",
    ]);
    assert.deepEqual(checkConfig({ agents: { defaults: { timeoutSeconds: 2_000_000 } } }).problems, []);
  });

  it("refuses wrong settings of the engine lossless, and leaves plugins' settings to the plugins", () => {
    const config = {
      trigger: -5,
      ignoreSessions: "cron:*",
      retention: { sessionsOlderThanDays: 0 },
      triger: 1,
    };
    const { problems, warnings } = checkConfig({
      plugins: { entries: { lossless: { config }, other: { config } } },
    });
    assert.deepEqual(problems.toSorted(), [
      "plugins.entries.lossless.config.ignoreSessions must be a list, but is a string.",
      "plugins.entries.lossless.config.retention.sessionsOlderThanDays must be greater than 0, but is 0.",
      "plugins.entries.lossless.config.trigger must be at least 1, but is -5.",
    ]);
    assert.deepEqual(warnings, [
      "plugins.entries.lossless.config.triger is not a known key; it is not used. Did you mean trigger?",
    ]);
  });

  it("accepts every key with a valid value without a warning", () => {
    const runtime = { id: "codex", fallback: "none" };
    const agent = {
      workspace: "~/w",
      model: { primary: "p/m" },
      models: { "p/m": { agentRuntime: runtime, thinking: "low" } },
      permission: {
        mode: "read-only",
        allow: [{ tool: "shell", match: "ls *", cwd: "/w" }],
        deny: [{ tool: "web_fetch" }],
        shellEnv: ["CI", "NODE_*"],
        sandbox: "require",
      },
      thinking: "off",
      maxSteps: 1,
      timeoutSeconds: 0.5,
    };
    const model = {
      id: "m",
      name: "M",
      contextWindow: 8192,
      maxTokens: 1,
      reasoning: true,
      input: ["text", "image"],
      promptCache: "marks",
      truncatesSilently: false,
      cost: { input: 1, output: 0, cacheRead: 0.1, cacheWrite: 2 },
    };
    const compaction = {
      owner: "engine",
      model: "p/m",
      keepRecentTokens: 0,
      reserveTokens: 1,
      reserveTokensFloor: 2,
      mode: "safeguard",
      timeoutSeconds: 3,
      customInstructions: "",
      notifyUser: false,
    };
    const result = checkConfig({
      agents: { defaults: { ...agent, compaction, toolResultMaxChars: 5 }, list: [{ id: "a", ...agent }] },
      models: {
        providers: {
          p: {
            api: "openai-completions",
            baseUrl: "http://127.0.0.1:1/v1",
            apiKey: { file: "~/key" },
            headers: { "x-a": "b" },
            models: [model],
            agentRuntime: runtime,
          },
        },
      },
      plugins: {
        slots: { contextEngine: "legacy", memory: "files" },
        entries: {
          x: { enabled: false, config: [1] },
          lossless: {
            enabled: true,
            config: {
              trigger: 1,
              headTokens: 2,
              tailTokens: 3,
              ignoreSessions: ["cron:*"],
              statelessSessions: [],
              summariesPerHour: 0,
              retention: { sessionsOlderThanDays: 0.5 },
            },
          },
        },
        load: { paths: ["./x.ts"] },
      },
      gateway: { capture: { maxBytes: 1, keep: 1 } },
      logging: { level: "silent" },
    });
    assert.deepEqual(result, { problems: [], warnings: [], ignored: [] });
  });

  for (const [plugin, settings, problem] of [
    [
      "codex",
      { sandbox: "readonly" },
      '.sandbox must be one of "read-only", "workspace-write", "danger-full-access", but is "readonly".',
    ],
    ["codex", { command: 3 }, ".command must be a string, but is a number."],
    ["claude-cli", { context: "thread" }, '.context must be one of "wire", but is "thread".'],
    ["claude-cli", { command: "" }, ".command must not be empty, but is empty."],
    ["acp", { agents: "x" }, ".agents must be an object, but is a string."],
    [
      "acp",
      { agents: { a: 1 } },
      ".agents.a must be an object such as { startSeconds: 1 }, but is a number.",
    ],
    ["acp", { agents: { a: { env: { B: 1 } } } }, ".agents.a.env.B must be a string, but is a number."],
    [
      "acp",
      { agents: { a: { startSeconds: 0 } } },
      ".agents.a.startSeconds must be greater than 0, but is 0.",
    ],
  ] as const)
    it(`refuses ${JSON.stringify(settings)} as settings of ${plugin}`, () => {
      const { problems } = checkConfig({ plugins: { entries: { [plugin]: { config: settings } } } });
      assert.deepEqual(problems, [`plugins.entries.${plugin}.config${problem}`]);
    });
});
