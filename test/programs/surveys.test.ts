/** Where each program is set to send its requests, which key belongs there, and what points it to the gateway instead. */
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRoute,
} from "../../packages/contract/src/harness/wrap.ts";
import { copilotWrap } from "../../packages/gateway/src/programs/copilot.ts";
import { describedWrap } from "../../packages/gateway/src/programs/described-program.ts";
import { geminiWrap } from "../../packages/gateway/src/programs/gemini.ts";
import { gooseWrap } from "../../packages/gateway/src/programs/goose.ts";
import { opencodeWrap } from "../../packages/gateway/src/programs/opencode.ts";
import { piWrap } from "../../packages/gateway/src/programs/pi.ts";
import { qwenWrap } from "../../packages/gateway/src/programs/qwen.ts";

const HERE = "http://127.0.0.1:7/v1";
const ROUTE: WrapRoute = {
  baseUrl: "http://127.0.0.1:9",
  secretUrl: "http://127.0.0.1:9/t/secret",
  token: "secret",
  headers: { "x-pagurus-token": "secret" },
  governs: true,
  answersAll: false,
  tools: { name: "pagurus", command: "/node", args: ["/serve.js"], env: {} },
};

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pagurus-surveys-"));
  for (const name of ["copilot", "opencode", "gemini", "qwen", "pi", "goose", "agent"]) {
    write(`bin/${name}`, "#!/bin/sh\n");
    chmodSync(join(root, "bin", name), 0o755);
  }
  mkdirSync(join(root, "work"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(name: string, content: unknown): void {
  const file = join(root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
}

interface Asked {
  folderTrusted?: boolean;
  env?: Record<string, string>;
  args?: string[];
}

function survey(
  wrap: ProgramWrap,
  { env = {}, args = [], folderTrusted = false }: Asked = {},
): Promise<WrappedProgram> {
  return wrap.survey({
    command: wrap.id,
    args,
    env: { HOME: root, PATH: join(root, "bin"), ...env },
    cwd: join(root, "work"),
    folderTrusted,
    folder: join(root, "run", wrap.id),
  });
}

async function launched(wrap: ProgramWrap, asked: Asked = {}, route = ROUTE): Promise<WrapLaunch> {
  return (await survey(wrap, asked)).launch(route);
}

function fileOf({ files = [] }: WrapLaunch): Record<string, unknown> {
  return JSON.parse(readFileSync(files[0] ?? "", "utf8")) as Record<string, unknown>;
}

describe("the key that summaries are made with", () => {
  const REAL = { OPENAI_API_KEY: "real", ANTHROPIC_API_KEY: "real" };

  it("is not the provider's usual one where the program's own provider is at another host", async () => {
    const provider = { baseUrl: HERE, api: "openai-completions", apiKey: "own" };
    write(".pi/agent/models.json", { providers: { mine: provider } });
    write(".pi/agent/settings.json", { defaultProvider: "mine", defaultModel: "m1" });
    assert.equal((await survey(piWrap, { env: REAL })).provider.keyEnv, undefined);
    const mine = { npm: "@ai-sdk/anthropic", options: { baseURL: HERE, apiKey: "own" } };
    write(".config/opencode/opencode.json", { model: "mine/m1", provider: { mine } });
    assert.equal((await survey(opencodeWrap, { env: REAL })).provider.keyEnv, undefined);
    const described = describedWrap("agent", { api: "openai-completions", baseUrlEnv: "LLM_URL", args: [] });
    assert.equal((await survey(described, { env: { ...REAL, LLM_URL: HERE } })).provider.keyEnv, undefined);
  });

  it("is the variable that the program's own settings name, or the usual one at the provider itself", async () => {
    const provider = { baseUrl: HERE, api: "openai-completions", apiKey: "$MINE" };
    write(".pi/agent/models.json", { providers: { mine: provider } });
    const args = ["--model", "mine/m1"];
    assert.equal((await survey(piWrap, { args, env: { MINE: "x" } })).provider.keyEnv, "MINE");
    assert.equal(
      (await survey(piWrap, { args: ["--provider", "anthropic"], env: REAL })).provider.keyEnv,
      "ANTHROPIC_API_KEY",
    );
    const mine = {
      npm: "@ai-sdk/openai-compatible",
      options: { baseURL: "{env:URL}", apiKey: "{env:MINE}" },
    };
    write(".config/opencode/opencode.json", { model: "mine/m1", provider: { mine } });
    const { provider: found } = await survey(opencodeWrap, { env: { MINE: "x", URL: HERE } });
    assert.deepEqual([found.baseUrl, found.keyEnv], [HERE, "MINE"]);
  });
});

describe("the provider of a program", () => {
  it("is that of its own file of variables, which it reads by itself", async () => {
    write(".qwen/.env", `OPENAI_BASE_URL=${HERE}\nOPENAI_API_KEY=in-file\n`);
    assert.equal((await survey(qwenWrap)).provider.baseUrl, HERE);
    assert.equal(
      (await survey(qwenWrap, { env: { OPENAI_BASE_URL: "http://127.0.0.1:8/v1" } })).provider.baseUrl,
      "http://127.0.0.1:8/v1",
    );
    write("work/.gemini/.env", "GEMINI_API_KEY=in-file\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:7\n");
    write(".gemini/trustedFolders.json", { [join(root, "work")]: "TRUST_FOLDER" });
    const gemini = await survey(geminiWrap);
    assert.equal(gemini.provider.baseUrl, "http://127.0.0.1:7/v1beta");
    assert.equal(gemini.refusal, undefined);
  });

  it("is that of the nearest project settings of OpenCode in a trusted folder", async () => {
    const at = (baseURL: string): object => ({ npm: "@ai-sdk/anthropic", options: { baseURL } });
    write(".config/opencode/opencode.json", { model: "mine/m1", provider: { mine: at(HERE) } });
    write(
      "work/.opencode/opencode.jsonc",
      `// here\n${JSON.stringify({ model: "other/m2", provider: { other: at("http://127.0.0.1:8/v1") } })}`,
    );
    const { provider, models } = await survey(opencodeWrap, { folderTrusted: true });
    assert.deepEqual([provider.id, provider.baseUrl, models], ["other", "http://127.0.0.1:8/v1", ["m2"]]);
  });

  it("has the version at the end of the path, whatever the address has", async () => {
    const described = describedWrap("agent", { api: "anthropic-messages", args: [] });
    const at = async (address: string): Promise<string> =>
      (await survey(described, { env: { ANTHROPIC_BASE_URL: address } })).provider.baseUrl;
    assert.equal(await at("http://127.0.0.1:7/x?k=1"), "http://127.0.0.1:7/x/v1?k=1");
    assert.equal(await at("http://127.0.0.1:7/v1/"), "http://127.0.0.1:7/v1");
    assert.equal(await at("http://127.0.0.1:7"), "http://127.0.0.1:7/v1");
    await assert.rejects(at("localhost:7"), { code: "usage_invalid" });
  });

  it("is refused with what to do where it cannot be governed", async () => {
    const refused = async (wrap: ProgramWrap, asked: Asked): Promise<string> =>
      (await survey(wrap, asked)).refusal?.reason ?? "";
    assert.match(await refused(copilotWrap, {}), /set COPILOT_PROVIDER_BASE_URL/);
    assert.match(
      await refused(copilotWrap, {
        env: { COPILOT_PROVIDER_BASE_URL: HERE, COPILOT_PROVIDER_TYPE: "azure" },
      }),
      /Azure/,
    );
    assert.match(await refused(opencodeWrap, {}), /model is not set/);
    assert.match(
      await refused(opencodeWrap, { args: ["--model", "constructor/m"] }),
      /provider\.constructor\.npm/,
    );
    assert.match(await refused(geminiWrap, {}), /Google account/);
    assert.match(await refused(qwenWrap, { args: ["--auth-type", "qwen-oauth"] }), /Qwen account/);
    assert.match(await refused(qwenWrap, { args: ["--auth-type", "toString"] }), /not governed yet/);
    assert.match(await refused(piWrap, {}), /provider is not set/);
    assert.match(await refused(gooseWrap, { env: { GOOSE_PROVIDER: "databricks" } }), /"databricks"/);
    await assert.rejects(survey(opencodeWrap, { args: ["serve"] }), { code: "usage_invalid" });
  });
});

describe("a program on its way to the gateway", () => {
  it("keeps a server of its user's that has the name of ours", async () => {
    const mcpServers = { pagurus: { command: "mine" } };
    write(".qwen/settings.json", { mcpServers });
    write(".gemini/settings.json", { mcpServers, security: { auth: { selectedType: "gemini-api-key" } } });
    write(".copilot/mcp-config.json", { mcpServers });
    for (const wrap of [qwenWrap, geminiWrap])
      assert.deepEqual(Object.keys(fileOf(await launched(wrap))["mcpServers"] as object), ["pagurus_wire"]);
    const { args } = await launched(copilotWrap, { env: { COPILOT_PROVIDER_BASE_URL: HERE } });
    assert.match(args[1] ?? "", /"pagurus_wire"/);
  });

  it("has no secret on its command line, and only its user can read its files", async () => {
    const asked: Asked = {
      env: { COPILOT_PROVIDER_BASE_URL: HERE, GEMINI_API_KEY: "k" },
      args: ["--model", "anthropic/m"],
    };
    for (const wrap of [copilotWrap, opencodeWrap, geminiWrap, qwenWrap, piWrap, gooseWrap]) {
      const { args, files = [] } = await launched(wrap, asked);
      assert.doesNotMatch(args.join(" "), /secret/, wrap.id);
      for (const file of files) assert.equal(statSync(file).mode & 0o777, 0o600, wrap.id);
    }
    const described = describedWrap("agent", { api: "openai-completions", args: ["--url", "{url}"] });
    const { args, env } = await launched(described, { env: { OPENAI_API_KEY: "own" } });
    assert.deepEqual(args, ["--url", ROUTE.baseUrl]);
    assert.equal(env["OPENAI_API_KEY"], "secret", "the key's place has the secret of the run");
    const { credentials } = await survey(described, { env: { OPENAI_API_KEY: "own" } });
    assert.deepEqual(credentials, { authorization: "Bearer own" });
  });

  it("leaves no file of a run that was killed", async () => {
    write("run/pi/wire-999999999-old.js", "");
    write("run/pi/wire-mine.js", "");
    const { files = [] } = await launched(piWrap, { args: ["--provider", "anthropic"] });
    const names = readdirSync(join(root, "run", "pi"));
    assert.deepEqual(names.toSorted(), [basename(files[0] ?? ""), "wire-mine.js"].toSorted());
  });

  it("is not led away by its own option", async () => {
    const { args, env } = await launched(qwenWrap, { args: ["--openai-base-url", HERE, "-p", "Hello."] });
    assert.deepEqual(args, ["-p", "Hello."]);
    assert.equal(env["OPENAI_BASE_URL"], ROUTE.secretUrl);
    const { provider } = await survey(qwenWrap, { args: [`--openai-base-url=${HERE}`] });
    assert.equal(provider.baseUrl, HERE);
  });

  it("keeps its user's own headers and settings", async () => {
    const env = { COPILOT_PROVIDER_BASE_URL: HERE, COPILOT_PROVIDER_HEADERS: "x-team: blue\n" };
    const copilot = await launched(copilotWrap, { env });
    assert.equal(copilot.env["COPILOT_PROVIDER_HEADERS"], "x-team: blue\nx-pagurus-token: secret");
    const content = JSON.stringify({ theme: "dark", provider: { anthropic: { options: { timeout: 5 } } } });
    const opencode = await launched(opencodeWrap, {
      env: { OPENCODE_CONFIG_CONTENT: content },
      args: ["-m", "anthropic/m"],
    });
    const set = JSON.parse(opencode.env["OPENCODE_CONFIG_CONTENT"] ?? "{}") as {
      theme: string;
      provider: { anthropic: { options: Record<string, unknown> } };
    };
    assert.equal(set.theme, "dark");
    assert.deepEqual(set.provider.anthropic.options, {
      timeout: 5,
      baseURL: `${ROUTE.baseUrl}/v1`,
      headers: ROUTE.headers,
    });
  });
});
