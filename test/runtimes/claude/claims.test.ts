import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { PagurusError } from "../../../src/contract/errors.ts";
import { describeModel } from "../../../src/model/resolve.ts";
import { claudeSupports } from "../../../src/runtimes/claude/claims.ts";
import { createClaudeHarness, readClaudeSettings } from "../../../src/runtimes/claude/harness.ts";
import { launchArguments, launchEnvironment, SHELL_SETUP } from "../../../src/runtimes/claude/launch.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-claims-"));
after(() => rmSync(root, { recursive: true, force: true }));
const program = join(root, "claude");
writeFileSync(program, "#!/bin/sh\nexit 70\n");
chmodSync(program, 0o755);

const model = describeModel("anthropic/claude-sonnet-4-5", {});
const SERVED = { baseUrl: "https://api.example/v1", headers: {}, apiKey: "secret" };
const base = { env: { PATH: root }, endpoint: () => SERVED };
const log = { debug: () => undefined, warn: () => undefined };

describe("Claude Code as a runtime", () => {
  it("runs models of the Messages API that the host has a key for", () => {
    assert.deepEqual(claudeSupports(base)(model), { supported: true });
    const other = claudeSupports(base)({ ...model, api: "openai-responses" });
    assert.ok(!other.supported && /Messages API/.test(other.reason));
  });

  it("says how to get a program that is not there", () => {
    const answer = claudeSupports({ ...base, env: {}, command: join(root, "none") })(model);
    assert.ok(!answer.supported && /npm install -g @anthropic-ai\/claude-code/.test(answer.reason));
  });

  it("uses a login of its own only where the user has said so", () => {
    const keyless = { ...base, endpoint: () => undefined };
    const refused = claudeSupports(keyless)(model);
    assert.ok(!refused.supported && /login is "own"/.test(refused.reason));
    assert.deepEqual(claudeSupports({ ...keyless, login: "own" })(model), { supported: true, login: "own" });
  });

  it("is a CLI backend, which claims no model", () => {
    const { family, claims } = createClaudeHarness({ ...base, home: root, log });
    assert.deepEqual([family, claims], ["cli", undefined]);
  });

  it("knows its settings and no others", () => {
    assert.deepEqual(readClaudeSettings({ command: "claude", login: "own" }), {
      command: "claude",
      login: "own",
    });
    assert.deepEqual(readClaudeSettings(undefined), {});
    for (const wrong of [{ command: 1 }, { command: "" }, { login: "ours" }])
      assert.throws(
        () => readClaudeSettings(wrong),
        (error) => error instanceof PagurusError && error.code === "config_invalid",
      );
  });
});

describe("How Claude Code is started", () => {
  const env = { PATH: "/bin", ANTHROPIC_AUTH_TOKEN: "theirs", CLAUDE_CODE_USE_BEDROCK: "1", CLAUDECODE: "1" };
  const options = {
    env,
    model,
    sessionId: "id",
    thinking: undefined,
    maxSteps: 5,
    governs: true,
    goesOn: undefined,
    files: {
      configDir: join(root, "config"),
      scratch: join(root, "scratch"),
      shellSetup: join(root, "setup.sh"),
      systemPrompt: join(root, "system.md"),
      resumes: undefined,
    },
    endpoint: { ...SERVED, headers: { "x-team": "blue", authorization: "Bearer secret" } },
    server: undefined,
  };

  it("keeps the user's login and settings out where the host has a key, which is on no command line", () => {
    const made = launchEnvironment(options);
    assert.equal(made["ANTHROPIC_API_KEY"], "secret");
    assert.equal(made["ANTHROPIC_BASE_URL"], "https://api.example");
    assert.equal(made["ANTHROPIC_CUSTOM_HEADERS"], "x-team: blue");
    assert.equal(made["CLAUDE_CONFIG_DIR"], join(root, "config"));
    for (const name of ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDECODE"])
      assert.ok(!(name in made), name);
    const line = launchArguments(options).join(" ");
    assert.ok(line.includes("--bare") && !line.includes("secret"));
  });

  it("keeps what it writes by the way out of the user's folders, and says so to no command", () => {
    const launched = launchEnvironment({ ...options, env: { ...env, XDG_CACHE_HOME: "/a user's" } });
    assert.equal(launched["XDG_CACHE_HOME"], join(root, "scratch"));
    const run = (script: string): string =>
      execFileSync("/bin/sh", ["-c", `${SHELL_SETUP}${script}`], {
        env: launched as NodeJS.ProcessEnv,
        encoding: "utf8",
      });
    assert.equal(run('echo "$XDG_CACHE_HOME"'), "/a user's\n");
    const seen = run("env");
    for (const hidden of ["secret", "api.example", root]) assert.ok(!seen.includes(hidden), hidden);
    assert.match(seen, /^PATH=\/bin$/m);
  });

  it("leaves both as they are with the user's own login", () => {
    const own = { ...options, endpoint: undefined };
    const made = launchEnvironment(own);
    for (const [name, value] of Object.entries(env)) assert.equal(made[name], value);
    assert.ok(!("CLAUDE_CONFIG_DIR" in made) && !("ANTHROPIC_API_KEY" in made));
    assert.ok(!launchArguments(own).includes("--bare"));
  });

  it("keeps its own compaction away where an engine governs, and only there", () => {
    assert.equal(launchEnvironment(options)["DISABLE_COMPACT"], "1");
    const kept = launchEnvironment({ ...options, governs: false });
    assert.equal(kept["DISABLE_COMPACT"], undefined);
    assert.equal(kept["CLAUDE_CODE_MAX_CONTEXT_TOKENS"], String(model.contextWindow));
  });
});
