/**
 * `pagurus setup` in a real terminal (tmux), from a fresh home to the first answer: without anything, with a key, with the logins of the
 * real Codex and Claude Code, with a local server, and with three agents' conversations. Every key after the command is counted.
 */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { startServer, type ModelServer, type Protocol } from "../../servers/server.ts";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { finish, makeSetting, type Setting } from "../../turn/setting.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";

const MOST_KEYS = 5;
const MOST_MS = 60_000;
const ANSWER = "Berth 9 is free.";

/** A user in front of a terminal, in a home of their own without any configuration. */
class User {
  readonly setting: Setting;
  readonly #context: TestContext;
  #terminal: Terminal | undefined;
  #keys = 0;
  #began = 0;
  /** Time of the import, which does not count. */
  #apart = 0;

  constructor(context: TestContext) {
    needTerminal();
    this.#context = context;
    this.setting = makeSetting();
    rmSync(this.setting.home, { recursive: true });
    this.put(".bin/pagurus", `#!/bin/sh\nexec "${process.execPath}" "${LAUNCHER}" "$@"\n`, 0o755);
    this.put("main/README.md", "# Quay\n\n```sh\nnpm ci && npm test\n```\n");
    context.after(() => {
      this.#terminal?.end();
      rmSync(this.setting.root, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  get config(): string {
    return join(this.setting.home, "pagurus.json");
  }

  path(name: string): string {
    return join(this.setting.root, name);
  }

  put(name: string, text: string, mode = 0o600): string {
    const path = this.path(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  }

  /** Installs a real program; `settings` point it to a local server. */
  install(name: string, program: string, settings: string): void {
    this.put(`.bin/${name}`, `#!/bin/sh\n${settings} exec "${program}" "$@"\n`, 0o755);
  }

  async server(protocol: Protocol, models: readonly string[] = []): Promise<ModelServer> {
    const server = await startServer({ protocol, models, script: () => ({ text: ANSWER }) });
    this.#context.after(() => server.close());
    return server;
  }

  environment(more: Record<string, string>): Record<string, string> {
    const { NO_COLOR: _, ...env } = this.setting.env;
    const path = [this.path(".bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter);
    return { ...env, PATH: path, ...more };
  }

  async starts(command: string, more: Record<string, string> = {}): Promise<void> {
    const env = this.environment(more);
    this.#terminal = new Terminal(this.setting.root, this.setting.workspace, env);
    await this.#terminal.sees(/ready>/);
    this.#began = performance.now();
    await this.#terminal.types(command);
    await this.sees(/Who answers\?/);
    assert.ok(!existsSync(this.setting.home), "Something was written before a yes.");
  }

  async sees(what: RegExp, patienceMs?: number): Promise<void> {
    await this.#terminal?.sees(what, patienceMs);
  }

  screen(): string {
    return this.#terminal?.screen() ?? "";
  }

  async presses(key: string): Promise<void> {
    this.#keys += 1;
    await this.#terminal?.press(key);
  }

  /** The same, followed by an import until `end` is on the screen. */
  async imports(key: string, end: RegExp): Promise<void> {
    const began = performance.now();
    await this.presses(key);
    await this.sees(end);
    this.#apart = performance.now() - began;
  }

  /** The answer is on the screen, after few keys and within a minute. */
  async answered(what: string | RegExp): Promise<void> {
    const shown = typeof what === "string" ? new RegExp(what.replaceAll(".", String.raw`\.`)) : what;
    await this.sees(shown, MOST_MS);
    const seconds = (performance.now() - this.#began - this.#apart) / 1_000;
    this.#context.diagnostic(`figure: ${this.#keys} keys, ${seconds.toFixed(1)} s: ${this.#context.name}`);
    assert.ok(this.#keys <= MOST_KEYS, `${this.#keys} keys`);
    assert.ok(seconds * 1_000 <= MOST_MS, `${seconds} s`);
  }

  /** Standard output of a command. */
  async run(args: string[]): Promise<string> {
    const { code, stdout, stderr } = await finish(this.setting, args);
    assert.equal(code, 0, stderr);
    return stdout;
  }
}

test("in a fresh home without a key, bare pagurus leads to an answer from the README", async (context) => {
  const user = new User(context);
  await user.starts("pagurus");
  assert.match(user.screen(), /No agent, key, local server or conversation was found here\./);
  await user.presses("2");
  await user.sees(/How do I run the tests\? @README\.md/);
  await user.presses("Enter");
  await user.answered(/npm ci && npm test \[README\.md\]/);
});

test("with a key in the environment, setup leads to an answer of its provider", async (context) => {
  const user = new User(context);
  const { url } = await user.server("anthropic-messages");
  await user.starts("pagurus setup", { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: url });
  await user.presses("Enter");
  await user.sees(/agents\.defaults\.model = anthropic\//);
  await user.presses("y");
  await user.sees(/How do I run the tests/);
  await user.presses("Enter");
  await user.answered(ANSWER);
});

test("with a local server, setup leads to an answer of its model", async (context) => {
  const user = new User(context);
  const { url } = await user.server("openai-completions", ["nomic-embed-text", "qwen3:8b"]);
  const env = { PAGURUS_NO_PROBE: "0", OLLAMA_HOST: new URL(url).host };
  await user.starts("pagurus setup", env);
  assert.match(user.screen(), /Ollama +2 models at/);
  await user.presses("Enter");
  await user.sees(/agents\.defaults\.model = ollama\/qwen3:8b/);
  await user.presses("y");
  await user.sees(/How do I run the tests/);
  await user.presses("Enter");
  await user.answered(ANSWER);
});

test("with the login of Claude Code, setup leads to an answer of the real Claude Code", async (context) => {
  const user = new User(context);
  const { url, requests } = await user.server("anthropic-messages");
  user.install("claude", claudeBinary(), `ANTHROPIC_BASE_URL=${url.replace(/\/v1$/, "")}`);
  const claudeAiOauth = {
    accessToken: "sk-ant-oat01-test",
    refreshToken: "test",
    expiresAt: 4e12,
    scopes: ["user:inference"],
    subscriptionType: "pro",
  };
  user.put(".claude/.credentials.json", JSON.stringify({ claudeAiOauth }));
  await user.starts("pagurus setup");
  assert.match(user.screen(), /Claude Code +your own login/);
  await user.presses("Enter");
  await user.sees(/claude-cli\.config\.login = own/);
  await user.presses("y");
  await user.sees(/How do I run the tests/);
  await user.presses("Enter");
  await user.answered(ANSWER);
  assert.equal(requests.at(-1)?.headers["authorization"], "Bearer sk-ant-oat01-test");
});

test("with the login of Codex, setup leads to an answer of the real Codex", async (context) => {
  const user = new User(context);
  const { url, requests } = await user.server("openai-responses");
  user.install("codex", codexBinary(), "");
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { chatgpt_plan_type: "pro", chatgpt_account_id: "acct-17" };
  const payload = { exp: 4e9, email: "user@example.test", "https://api.openai.com/auth": claims };
  const token = `${part({ alg: "none" })}.${part(payload)}.test`;
  const tokens = { id_token: token, access_token: token, refresh_token: "test", account_id: "acct-17" };
  const login = { auth_mode: "chatgpt", tokens, last_refresh: new Date().toISOString() };
  user.put(".codex/auth.json", JSON.stringify(login));
  const addresses = { openai_base_url: url, chatgpt_base_url: url.replace("/v1", "/backend-api/") };
  const toml = Object.entries(addresses).map(([name, value]) => `${name} = "${value}"\n`);
  // The scripted server reads plain bodies.
  user.put(".codex/config.toml", `${toml.join("")}[features]\nenable_request_compression = false\n`);
  await user.starts("pagurus setup");
  assert.match(user.screen(), /Codex +your own login/);
  await user.presses("Enter");
  await user.sees(/agents\.defaults\.model = openai\//);
  await user.presses("y");
  await user.sees(/How do I run the tests/);
  await user.presses("Enter");
  await user.answered(ANSWER);
  assert.equal(requests.at(-1)?.headers["authorization"], `Bearer ${token}`);
});

test("a pasted key is not shown, is kept in a file of its own, and leads to an answer", async (context) => {
  const user = new User(context);
  const { url, requests } = await user.server("anthropic-messages");
  await user.starts("pagurus setup", { ANTHROPIC_BASE_URL: url });
  await user.presses("1");
  await user.sees(/Whose key\?[^]*1 {2}anthropic/);
  await user.presses("1");
  await user.sees(/Key of anthropic/);
  await user.presses("pasted-key-17");
  await user.sees(/• ?•/);
  await user.presses("Enter");
  await user.sees(/keys\/anthropic: the key, readable by you alone/);
  assert.doesNotMatch(user.screen(), /pasted-key/);
  await user.presses("y");
  await user.sees(/How do I run the tests/);
  await user.presses("Enter");
  await user.sees(/Berth 9 is free\./);
  assert.equal(requests.at(-1)?.headers["x-api-key"], "pasted-key-17");
  const file = join(user.setting.home, "keys", "anthropic");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.doesNotMatch(readFileSync(user.config, "utf8"), /pasted-key/);
});

/** A conversation of each agent that has an importer; the paths of their files. */
function conversations(user: User): string[] {
  const timestamp = "2026-02-11T20:30:00.000Z";
  const lines = (rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const claude = (text: string, uuid: string, parentUuid: string | null): object => ({
    type: "user",
    uuid,
    parentUuid,
    sessionId: "0b7c1a52-3f7d-4f0e-9a59-6f5f9a0d7c11",
    cwd: "/project",
    isSidechain: false,
    timestamp,
    message: { role: "user", content: text },
  });
  const rollout = new URL("../../importers/sessions/rollout-0.169.0.jsonl", import.meta.url);
  const pi = { type: "session", version: 3, id: "pi-one", timestamp, cwd: "/project" };
  const message = { role: "user", content: [{ type: "text", text: "Count the cranes." }], timestamp: 1 };
  return [
    user.put(
      ".claude/projects/-project/0b7c1a52-3f7d-4f0e-9a59-6f5f9a0d7c11.jsonl",
      lines([claude("The spare key is in berth 7.", "u1", null), claude("Noted?", "u2", "u1")]),
    ),
    user.put(".codex/sessions/2026/02/11/rollout-2026-02-11-one.jsonl", readFileSync(rollout, "utf8")),
    user.put(
      ".pi/agent/sessions/--project--/one.jsonl",
      lines([pi, { type: "message", id: "a", parentId: null, timestamp, message }]),
    ),
  ];
}

test("with conversations of three agents, setup imports them, leads to an answer, and is undone byte for byte", async (context) => {
  const user = new User(context);
  const { url } = await user.server("anthropic-messages");
  const files = conversations(user);
  const before = files.map((file) => readFileSync(file));
  const env = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: url };
  await user.starts("pagurus setup", env);
  await user.presses("Enter");
  await user.sees(/Bring conversations along\?/);
  await user.presses("y");
  await user.sees(/This will be written:[^]*1 conversation of Claude Code/);
  await user.imports("y", /3 conversations imported\./);
  assert.match(user.screen(), /█{24} 100 % {2}3 of 3/);
  await user.sees(/How do I run the tests/);
  await user.presses("Enter");
  await user.answered(ANSWER);
  assert.deepEqual(
    files.map((file) => readFileSync(file)),
    before,
  );
  const found = await user.run(["sessions", "search", "spare key"]);
  assert.match(found, /berth 7/);

  await user.presses("C-d");
  await user.sees(/ready> *$/m);
  const undone = await user.run(["setup", "--undo"]);
  assert.match(undone, /^3 imported conversations removed;/);
  assert.match(undone, /pagurus\.json is removed; it did not exist before\./);
  assert.ok(!existsSync(user.config));
  const gone = await user.run(["sessions", "search", "spare key"]);
  assert.doesNotMatch(gone, /berth 7/);
});
