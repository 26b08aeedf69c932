import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readSettings } from "../../packages/host/src/mcp/client/mcp-settings.ts";
import { claudeVariables, codexVariables } from "../../packages/core/src/native/own-variables.ts";
import { childEnvironment } from "../../packages/core/src/platform/child-environment.ts";
import { launchEnvironment, type LaunchOptions } from "../../packages/runtimes/src/claude/claude-launch.ts";

const NEEDED = {
  PATH: "/bin",
  HOME: "/home/u",
  LANG: "C.UTF-8",
  LC_ALL: "C",
  HTTPS_PROXY: "http://127.0.0.1:3128",
  SSL_CERT_FILE: "/etc/ca.pem",
  XDG_CONFIG_HOME: "/home/u/.config",
  JAVA_HOME: "/opt/java",
};
const OTHERS = {
  GITHUB_TOKEN: "t",
  MISTRAL_API_KEY: "k",
  AWS_SECRET_ACCESS_KEY: "s",
  DATABASE_URL: "postgres://u:p@h/d",
  SSH_AUTH_SOCK: "/tmp/agent",
  NODE_OPTIONS: "--require=/tmp/x.js",
};
const env = { ...NEEDED, ...OTHERS, OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a", CODEX_HOME: "/none" };

describe("the environment of a child", () => {
  it("holds common variables and named ones, and no key of another program (finding F10)", () => {
    assert.deepEqual(childEnvironment(env), NEEDED);
    assert.deepEqual(childEnvironment(env, ["GITHUB_TOKEN", "AWS_*"]), {
      ...NEEDED,
      GITHUB_TOKEN: "t",
      AWS_SECRET_ACCESS_KEY: "s",
    });
    assert.deepEqual(Object.keys(childEnvironment({})), ["PATH"]);
  });

  it("of an MCP server is the same with the server's own entry (finding F10)", () => {
    const config = { command: "x", env: { MINE: "${MISTRAL_API_KEY}" } };
    const { transport } = readSettings(config, "/home/u", env);
    assert.ok(transport.kind === "stdio");
    assert.deepEqual(transport.env, { ...NEEDED, MINE: "k" });
  });

  it("of Codex has its own provider's key and what Codex's configuration names (finding F10)", () => {
    const folder = mkdtempSync(join(tmpdir(), "pagurus-env-"));
    try {
      const config = 'model_provider = "m"\n[model_providers.m]\nenv_key = "MISTRAL_API_KEY"\n';
      writeFileSync(join(folder, "config.toml"), config);
      const own = { ...env, CODEX_HOME: folder };
      assert.deepEqual(childEnvironment(own, codexVariables(own)), {
        ...NEEDED,
        CODEX_HOME: folder,
        OPENAI_API_KEY: "o",
        MISTRAL_API_KEY: "k",
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("of Claude Code has its own provider's key only where it uses its own login (finding F10)", () => {
    const options = {
      env: { ...env, CLAUDE_CONFIG_DIR: "/c" },
      passedOn: ["DATABASE_URL"],
      model: { id: "m", maxTokens: 10, contextWindow: 10 },
      files: { configDir: "/ours", scratch: "/s", shellSetup: "/f", systemPrompt: "/p", resumes: undefined },
      thinking: undefined,
      governs: true,
      goesOn: undefined,
    } as unknown as LaunchOptions;
    const own = launchEnvironment({ ...options, endpoint: undefined });
    assert.deepEqual([own["ANTHROPIC_API_KEY"], own["CLAUDE_CONFIG_DIR"]], ["a", "/c"]);
    const endpoint = { baseUrl: "http://127.0.0.1:1/v1", headers: {}, apiKey: "ours" };
    const led = launchEnvironment({ ...options, endpoint });
    assert.deepEqual([led["ANTHROPIC_API_KEY"], led["CLAUDE_CONFIG_DIR"]], ["ours", "/ours"]);
    for (const seen of [own, led]) {
      assert.equal(seen["DATABASE_URL"], OTHERS.DATABASE_URL);
      for (const name of ["GITHUB_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "NODE_OPTIONS"])
        assert.equal(seen[name], undefined, name);
      for (const [name, value] of Object.entries(NEEDED)) assert.equal(seen[name], value);
    }
    assert.ok(claudeVariables({ CLAUDE_CODE_USE_BEDROCK: "1" }).includes("AWS_*"));
    assert.ok(!claudeVariables({ CLAUDE_CODE_USE_BEDROCK: "0" }).includes("AWS_*"));
  });
});
