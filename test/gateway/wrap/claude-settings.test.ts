import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { WrappedProgram } from "../../../packages/contract/src/harness/wrap.ts";
import { readUserSettings } from "../../../packages/runtimes/src/claude/claude-wrap-settings.ts";
import { claudeWrap } from "../../../packages/runtimes/src/claude/claude-wrap.ts";

const ROUTE = {
  baseUrl: "http://127.0.0.1:1/r",
  headers: { "x-token": "secret" },
  secretUrl: "http://127.0.0.1:1/t/secret",
  token: "secret",
  governs: true,
  answersAll: false,
};

describe("the user's own Claude Code, as it is set up", () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-wrap-claude-"));
    for (const name of ["work", "work/.claude", "config", "etc"]) mkdirSync(join(root, name));
    writeFileSync(join(root, "claude"), "#!/bin/sh\n", { mode: 0o755 });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const write = (file: string, value: unknown): void =>
    writeFileSync(join(root, file), JSON.stringify(value));

  function survey(env: Record<string, string> = {}, ...args: string[]): Promise<WrappedProgram> {
    return claudeWrap.survey({
      command: join(root, "claude"),
      args,
      env: { HOME: root, CLAUDE_CONFIG_DIR: join(root, "config"), ...env },
      cwd: join(root, "work"),
      folder: join(root, "ours"),
    });
  }

  const KEY = { ANTHROPIC_API_KEY: "sk-ant-api03-00000000000000000000-end" };
  const OAUTH = { claudeAiOauth: { accessToken: "none" } };

  it("uses its vendor's endpoint, or that of the environment or its settings, the nearest settings first", async () => {
    assert.equal((await survey(KEY)).provider.baseUrl, "https://api.anthropic.com/v1");
    const env = { ...KEY, ANTHROPIC_BASE_URL: "http://127.0.0.1:2/" };
    assert.equal((await survey(env)).provider.baseUrl, "http://127.0.0.1:2/v1");
    write("config/settings.json", { env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:3" } });
    assert.equal((await survey(env)).provider.baseUrl, "http://127.0.0.1:3/v1");
    write("config/.claude.json", { projects: { [join(root, "work")]: { hasTrustDialogAccepted: true } } });
    write("work/.claude/settings.json", { env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:4" } });
    assert.equal((await survey(env)).provider.baseUrl, "http://127.0.0.1:4/v1");
    assert.equal((await survey(env, "--setting-sources", "user")).provider.baseUrl, "http://127.0.0.1:3/v1");
    const json = JSON.stringify({ env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:5" } });
    assert.equal((await survey(env, "--settings", json)).provider.baseUrl, "http://127.0.0.1:5/v1");
  });

  it("is refused if it would use a subscription, and only then", async () => {
    const refused = async (env: Record<string, string>, ...args: string[]): Promise<string | undefined> =>
      (await survey(env, ...args)).refusal?.kind;
    assert.equal(await refused({}), undefined, "it asks for a login itself");
    assert.equal(await refused({ CLAUDE_CODE_OAUTH_TOKEN: "x" }), "login");
    assert.equal(await refused({ ANTHROPIC_AUTH_TOKEN: "sk-ant-oat01-x" }), "login");
    write("config/.credentials.json", OAUTH);
    assert.equal(await refused({}), "login");
    assert.equal(await refused({}, "--bare"), undefined);
    assert.equal(await refused(KEY), undefined);
    assert.equal(await refused({ ANTHROPIC_AUTH_TOKEN: "of-a-gateway" }), undefined);
    write("config/.claude.json", { customApiKeyResponses: { rejected: [KEY.ANTHROPIC_API_KEY.slice(-20)] } });
    assert.equal(await refused(KEY), "login", "the user declined the key");
    assert.equal(await refused(KEY, "-p", "Hello."), undefined);
    write("config/.claude.json", { primaryApiKey: "x" });
    assert.equal(await refused({}), undefined);
    write("config/.claude.json", {});
    write("config/settings.json", { apiKeyHelper: "/bin/key" });
    assert.equal(await refused({}), undefined);
    rmSync(join(root, "config", ".credentials.json"));
    rmSync(join(root, "config", "settings.json"));
    write("config/.claude.json", { oauthAccount: {} });
    assert.equal(await refused({}), "login", "where the login itself is in the system's own keeping");
  });

  it("is refused if it uses another cloud", async () => {
    assert.match((await survey({ CLAUDE_CODE_USE_VERTEX: "1" })).refusal?.reason ?? "", /Google Vertex AI/);
    assert.equal((await survey({ ...KEY, CLAUDE_CODE_USE_BEDROCK: "0" })).refusal, undefined);
  });

  it("is pointed to the gateway by its environment alone, with the user's own headers before ours", async () => {
    const program = await survey({ ...KEY, ANTHROPIC_CUSTOM_HEADERS: "x-team: blue\n" }, "-p", "Hello.");
    const { args, env, files } = await program.launch(ROUTE);
    assert.deepEqual(args, ["-p", "Hello."]);
    assert.equal(env["ANTHROPIC_BASE_URL"], ROUTE.baseUrl);
    assert.equal(env["ANTHROPIC_CUSTOM_HEADERS"], "x-team: blue\nx-token: secret");
    assert.equal(env["ANTHROPIC_API_KEY"], KEY.ANTHROPIC_API_KEY);
    assert.equal(files, undefined);
  });

  it("leaves the settings of a folder out with -p, where it would ask no question about the folder (finding 2.3)", async () => {
    write("work/.claude/settings.json", { hooks: { SessionStart: [] } });
    const argsOf = async (...args: string[]): Promise<string[]> =>
      (await (await survey(KEY, ...args)).launch(ROUTE)).args;
    assert.deepEqual(await argsOf("-p", "Hello."), ["--setting-sources=user", "-p", "Hello."]);
    assert.deepEqual(await argsOf("Hello."), ["Hello."], "it asks by itself");
    assert.deepEqual(await argsOf("--", "-p"), ["--", "-p"]);
    const chosen = ["--setting-sources", "user,project", "-p", "Hello."];
    assert.deepEqual(await argsOf(...chosen), chosen);
    write("config/.claude.json", { projects: { [join(root, "work")]: { hasTrustDialogAccepted: true } } });
    assert.deepEqual(await argsOf("-p", "Hello."), ["-p", "Hello."]);
  });

  it("gets the engine's tools before its user's own text, in options that take no further value", async () => {
    const tools = { name: "pagurus", command: "/node", args: ["/s.js"], env: { NODE_OPTIONS: "" } };
    const program = await survey(KEY, "--mcp-config", "mine.json", "-p", "Hello.");
    const [servers = "", allowed, ...rest] = (await program.launch({ ...ROUTE, tools })).args;
    const { name, ...server } = tools;
    assert.match(servers, /^--mcp-config=/);
    assert.deepEqual(JSON.parse(servers.slice("--mcp-config=".length)), {
      mcpServers: { [name]: { type: "stdio", ...server } },
    });
    assert.equal(allowed, "--allowedTools=mcp__pagurus");
    assert.deepEqual(rest, ["--mcp-config", "mine.json", "-p", "Hello."]);
    write("config/.claude.json", { mcpServers: { pagurus: { command: "mine" } } });
    const beside = (await (await survey(KEY)).launch({ ...ROUTE, tools })).args;
    assert.equal(beside[1], "--allowedTools=mcp__pagurus_wire", "the user's own server keeps its name");
  });

  it("is recognized as limited to the MCP servers of an organisation", () => {
    const request = { args: [], env: { CLAUDE_CONFIG_DIR: join(root, "config") }, cwd: root };
    const managed = join(root, "etc", "managed-settings.json");
    assert.equal(readUserSettings(request, managed).hasManagedServers, false);
    write("etc/managed-mcp.json", {});
    assert.equal(readUserSettings(request, managed).hasManagedServers, true);
  });

  it("is configured by a settings file if the user's settings would override the environment", async () => {
    write("config/settings.json", { env: { ANTHROPIC_CUSTOM_HEADERS: "x-team: blue" } });
    const json = JSON.stringify({ model: "opus", env: { OTHER: "1" } });
    const program = await survey(KEY, "--settings", json, "-p", "Hello.");
    const { args, files = [] } = await program.launch(ROUTE);
    const [file = ""] = files;
    assert.deepEqual(args, ["--settings", file, "-p", "Hello."]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), {
      model: "opus",
      env: {
        OTHER: "1",
        ANTHROPIC_BASE_URL: ROUTE.baseUrl,
        ANTHROPIC_CUSTOM_HEADERS: "x-team: blue\nx-token: secret",
      },
    });
  });

  it("needs no key if the gateway answers by itself", async () => {
    const { env } = await (await survey()).launch({ ...ROUTE, answersAll: true });
    assert.equal(env["ANTHROPIC_AUTH_TOKEN"], "answered-by-pagurus");
    const keyed = await (await survey(KEY)).launch({ ...ROUTE, answersAll: true });
    assert.equal(keyed.env["ANTHROPIC_AUTH_TOKEN"], undefined);
  });

  it("has the long window if the user configured it", async () => {
    const program = await survey(KEY, "--model", "claude-sonnet-4-5[1m]");
    assert.deepEqual([program.models, program.contextWindow], [["claude-sonnet-4-5"], 1_000_000]);
    assert.equal((await survey({ ...KEY, ANTHROPIC_MODEL: "opus" })).contextWindow, undefined);
  });

  it("has the window in which it compacts by itself, and leaves the engine's limit below its own", async () => {
    const windowFor = async (value: string, ...args: string[]): Promise<number | undefined> =>
      (await survey({ ...KEY, CLAUDE_CODE_AUTO_COMPACT_WINDOW: value }, ...args)).contextWindow;
    assert.equal(await windowFor("120000"), 120_000);
    assert.equal(await windowFor("150k"), 150_000);
    assert.equal(await windowFor("50000"), 100_000);
    assert.equal(await windowFor("500000"), 200_000);
    assert.equal(await windowFor("500000", "--model", "claude-sonnet-4-5[1m]"), 500_000);
    assert.equal(await windowFor("a lot"), undefined);
    write("config/settings.json", { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "110000" } });
    const program = await survey(KEY);
    assert.equal(program.contextWindow, 110_000);
    const spare = [20_000, 90_000, 100_000, 1_000_000].map((window) => program.spareTokens?.(window));
    assert.deepEqual(spare, [0, 10_000, 20_000, 20_000]);
  });

  it("is not wrapped if it holds no conversation here", async () => {
    for (const args of [["mcp", "list"], ["doctor"], ["--bg", "Hello."]])
      await assert.rejects(survey(KEY, ...args), { code: "usage_invalid" }, args.join(" "));
  });
});
