import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { describeModel } from "../../../packages/core/src/model/resolve.ts";
import { claudeSupports } from "../../../packages/runtimes/src/claude/claude-claims.ts";
import { findClaude } from "../../../packages/runtimes/src/claude/find-claude.ts";
import { createClaudeHarness } from "../../../packages/runtimes/src/claude/claude-harness.ts";
import {
  launchArguments,
  launchEnvironment,
  SHELL_SETUP,
} from "../../../packages/runtimes/src/claude/claude-launch.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-claims-"));
after(() => rmSync(root, { recursive: true, force: true }));
const program = join(root, "claude");
writeFileSync(program, "#!/bin/sh\nexit 70\n");
chmodSync(program, 0o755);

const model = describeModel("anthropic/claude-sonnet-4-5", {});
const SERVED = { baseUrl: "https://api.example/v1", headers: {}, apiKey: "secret" };
const base = { env: { PATH: root }, endpoint: () => SERVED };
const log = { debug: () => undefined, warn: () => undefined };

describe("the program of Claude Code", () => {
  const STUB = '#!/bin/sh\necho "Error: claude native binary not installed." >&2\nexit 1\n';
  const scope = join(root, "stubbed/node_modules/@anthropic-ai");
  const bin = join(root, "stubbed/node_modules/.bin");
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, 0o755);
  };
  put(join(scope, "claude-code/bin/claude.exe"), STUB);
  put(join(scope, "claude-code/package.json"), "{}");
  mkdirSync(bin);
  symlinkSync("../@anthropic-ai/claude-code/bin/claude.exe", join(bin, "claude"));
  const platform = join(scope, `claude-code-${process.platform}-${process.arch}`);

  it("that is a stub without its native package is refused with what to do (finding G4)", () => {
    for (const options of [{ env: { PATH: bin } }, { env: {}, command: join(bin, "claude") }]) {
      const found = findClaude(options);
      assert.ok("reason" in found);
      assert.match(found.reason, /without its native program/);
      assert.ok(found.reason.includes(`node ${join(scope, "claude-code/install.cjs")}`));
    }
  });

  it("that is a stub next to its native package is the one in that package (finding G4)", () => {
    put(join(platform, "package.json"), "{}");
    put(join(platform, "claude"), "native");
    const command = realpathSync(join(platform, "claude"));
    assert.deepEqual(findClaude({ env: { PATH: bin } }), { command });
    assert.deepEqual(findClaude({ env: {}, command: join(bin, "claude") }), { command });
  });

  it("that is not a stub is the one on PATH (finding G4)", () => {
    assert.deepEqual(findClaude({ env: { PATH: root } }), { command: program });
  });
});

describe("Claude Code as a runtime", () => {
  it("runs models of the Messages API that the host has a key for", () => {
    assert.deepEqual(claudeSupports(base)(model), { supported: true });
    const other = claudeSupports(base)({ ...model, api: "openai-responses" });
    assert.ok(!other.supported && /Messages API/.test(other.reason));
  });

  it("says how to install a missing program", () => {
    const answer = claudeSupports({ ...base, env: {}, command: join(root, "none") })(model);
    assert.ok(!answer.supported && /npm install -g @anthropic-ai\/claude-code/.test(answer.reason));
  });

  it("uses a login of its own only when the user has configured that", () => {
    const keyless = { ...base, endpoint: () => undefined };
    const refused = claudeSupports(keyless)(model);
    assert.ok(!refused.supported && /login is "own"/.test(refused.reason));
    assert.deepEqual(claudeSupports({ ...keyless, login: "own" })(model), { supported: true, login: "own" });
  });

  it("is a CLI backend, which claims no model", () => {
    const { family, claims } = createClaudeHarness({ ...base, home: root, log });
    assert.deepEqual([family, claims], ["cli", undefined]);
  });
});

describe("The launch of Claude Code", () => {
  const env = { PATH: "/bin", ANTHROPIC_AUTH_TOKEN: "theirs", CLAUDE_CODE_USE_BEDROCK: "1", CLAUDECODE: "1" };
  const options = {
    env,
    model,
    sessionId: "id",
    thinking: undefined,
    maxSteps: 5,
    governs: true,
    continuation: undefined,
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

  it("excludes the user's login and settings when the host has a key, which is on no command line", () => {
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

  it("keeps temporary files out of the user's folders, and hides the variables for that from commands", () => {
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

  it("leaves both unchanged with the user's own login", () => {
    const own = { ...options, endpoint: undefined };
    const made = launchEnvironment(own);
    for (const [name, value] of Object.entries(env)) assert.equal(made[name], value);
    assert.ok(!("CLAUDE_CONFIG_DIR" in made) && !("ANTHROPIC_API_KEY" in made));
    assert.ok(!launchArguments(own).includes("--bare"));
  });

  it("disables its own compaction when an engine governs, and only then", () => {
    assert.equal(launchEnvironment(options)["DISABLE_COMPACT"], "1");
    const kept = launchEnvironment({ ...options, governs: false });
    assert.equal(kept["DISABLE_COMPACT"], undefined);
    assert.equal(kept["CLAUDE_CODE_MAX_CONTEXT_TOKENS"], String(model.contextWindow));
  });
});
