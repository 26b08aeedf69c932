import assert from "node:assert/strict";
import { homedir } from "node:os";
import { describe, it } from "node:test";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { AgentHarness } from "../../packages/contract/src/harness/harness.ts";
import type { ProgramWrap } from "../../packages/contract/src/harness/wrap.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import { HARNESS_CONTRACT } from "../../packages/contract/src/version.ts";
import type { PagurusConfig } from "../../packages/core/src/config/config-types.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { PluginRegistry } from "../../packages/host/src/plugin/registry.ts";

function registryOf(config: PagurusConfig = {}): PluginRegistry {
  return new PluginRegistry({
    config,
    logger: silentLogger,
    baseDir: "/base",
    llmComplete: (request) =>
      Promise.resolve({ text: String(request.purpose), provider: "p", model: "m", agentId: "main" }),
  });
}

const engineOf = (id: string): ContextEngine => ({
  info: { id, name: id },
  ingest: () => Promise.resolve({ ingested: true }),
  assemble: ({ messages }) => Promise.resolve({ messages, estimatedTokens: 0 }),
  compact: () => Promise.resolve({ ok: true, compacted: false }),
});

function harnessOf(id: string, aliases: string[] = [], contract = HARNESS_CONTRACT): AgentHarness {
  return {
    id,
    aliases,
    contract,
    label: id,
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: [],
    supports: () => ({ supported: true }),
    start: () => {
      throw new Error("not run here");
    },
  };
}

const toolOf = (name: string) => ({
  name,
  description: "",
  parameters: {},
  execute: () => Promise.resolve({ content: [], isError: false }),
});

const commandOf = (name: string) => ({ name, usage: "", summary: "", run: () => Promise.resolve("") });

const programOf = (id: string, more: Partial<ProgramWrap> = {}): ProgramWrap => ({
  id,
  label: id,
  api: "openai-completions",
  survey: () => Promise.reject(new TypeError("x is undefined")),
  ...more,
});

const ASKED = { command: "mine", args: [], env: {}, cwd: "/", folder: "/" };

describe("a program that a plugin adds to pagurus wire", () => {
  it("is listed, and its failure names the plugin", async () => {
    const registry = registryOf();
    assert.equal(
      await registry.register("a", (api) => api.registerProgramWrap(programOf("mine"))),
      undefined,
    );
    const [program] = registry.programs;
    assert.equal(program?.id, "mine");
    await assert.rejects(program.survey(ASKED), {
      code: "plugin_failed",
      message: "The plugin a failed with the program mine: x is undefined",
    });
  });

  it("is refused with the name of a bundled or registered one, and without what the gateway needs", async () => {
    const registry = registryOf();
    await registry.register("a", (api) => api.registerProgramWrap(programOf("mine")));
    const refused = async (wrap: ProgramWrap, id: string): Promise<string> =>
      (await registry.register(id, (api) => api.registerProgramWrap(wrap)))?.reason ?? "";
    assert.match(await refused(programOf("codex"), "b"), /codex .* is registered already by pagurus/);
    assert.match(await refused(programOf("mine"), "c"), /mine .* is registered already by a/);
    assert.match(await refused(programOf("../x"), "d"), /program name "\.\.\/x" is not valid/);
    assert.match(
      await refused(programOf("e", { api: "soap" as never }), "e"),
      /has the API "soap"; use one of openai-responses/,
    );
    assert.match(
      await refused(programOf("f", { survey: undefined as never }), "f"),
      /survey of the program f/,
    );
  });
});

describe("a plugin's registration", () => {
  it("is kept with everything it names", async () => {
    const registry = registryOf();
    const factory = () => engineOf("mine");
    const memory = () => Promise.reject(new Error("not made here"));
    const failure = await registry.register("a", (api) => {
      api.registerContextEngine("mine", factory);
      api.registerAgentHarness(harnessOf("loop", ["pi"]));
      api.registerMemory("notes", memory);
      api.registerTool(toolOf("look"));
      api.registerCommand(commandOf("pin"));
    });
    assert.equal(failure, undefined);
    assert.deepEqual(
      registry.commands.map(({ name }) => name),
      ["pin"],
    );
    assert.equal((await registry.engine("mine")?.({}))?.info.name, "mine");
    assert.deepEqual(registry.engineIds, ["mine"]);
    assert.deepEqual(
      registry.harnesses.map(({ id }) => id),
      ["loop"],
    );
    await assert.rejects(async () => registry.memory("notes")?.({ workspaceDir: "/" }), /not made here/);
    assert.deepEqual(
      registry.tools.map(({ name }) => name),
      ["look"],
    );
  });

  it("gets its own configuration, paths of its own folder and the completion call", async () => {
    const config: PagurusConfig = { plugins: { entries: { a: { config: { depth: 2 } } } } };
    const registry = registryOf(config);
    let seen: PluginApi | undefined;
    await registry.register("a", (api) => void (seen = api), { baseDir: "/plugin" });
    assert.equal(seen?.id, "a");
    assert.equal(seen?.config, config);
    assert.deepEqual(seen?.pluginConfig, { depth: 2 });
    assert.equal(seen?.resolvePath("x/y"), "/plugin/x/y");
    assert.equal(seen?.resolvePath("~/y"), `${homedir()}/y`);
    const answer = await seen?.runtime.llm.complete({ messages: [], purpose: "why" });
    assert.equal(answer?.text, "why");
    await registry.register("b", (api) => void (seen = api));
    assert.equal(seen?.resolvePath("x"), "/base/x");
  });

  it("registers nothing when it throws", async () => {
    const registry = registryOf();
    const failure = await registry.register("bad", async (api) => {
      api.registerContextEngine("mine", () => engineOf("mine"));
      api.on("session_start", () => undefined);
      await Promise.resolve();
      throw new Error("no database\nat line 7");
    });
    assert.deepEqual(failure, {
      pluginId: "bad",
      reason: "no database",
      needed: "cannot be read and may be a gate",
    });
    assert.deepEqual(registry.failures, [failure]);
    assert.deepEqual(registry.engineIds, []);
    assert.deepEqual(registry.hooks("session_start"), []);
    assert.throws(() => registry.engine("mine"), {
      code: "engine_unknown",
      message: /there are: none.*The plugin bad failed: no database/,
    });
    assert.equal(await registry.register("bad", () => undefined), undefined);
  });

  it("that is present but not loaded is named in the error about its engine", () => {
    const registry = registryOf();
    registry.leaveOut("mine", "disabled");
    registry.leaveOut("other", "denied");
    assert.throws(
      () => registry.engine("mine"),
      /The plugin mine is disabled: pagurus plugins enable mine\.$/,
    );
    assert.deepEqual(registry.whyLeftOut("other"), [
      "The plugin other is denied: see plugins.allow and plugins.deny.",
    ]);
    assert.deepEqual(registry.whyLeftOut("none"), []);
  });

  it("fails when it takes too long, and cannot register anything afterwards", async () => {
    const registry = registryOf();
    let late: (() => void) | undefined;
    const failure = await registry.register(
      "slow",
      (api) => {
        late = () => api.registerContextEngine("mine", () => engineOf("mine"));
        return new Promise(() => undefined);
      },
      { deadlineMs: 5, path: "/plugins/slow" },
    );
    assert.equal(failure?.path, "/plugins/slow");
    assert.match(failure?.reason ?? "", /took longer than 5 ms/);
    assert.throws(() => late?.(), {
      code: "engine_contract",
      message: /after its register function has ended/,
    });
    assert.deepEqual(registry.engineIds, []);
  });

  it("fails when an id is taken, naming the owner, and the first keeps it", async () => {
    const registry = registryOf();
    let calls = 0;
    const first = (): ContextEngine => {
      calls += 1;
      return engineOf("mine");
    };
    await registry.register("a", (api) => {
      api.registerContextEngine("mine", first);
      api.registerAgentHarness(harnessOf("loop", ["pi"]));
      api.registerTool(toolOf("look"));
      api.registerMemory("notes", () => Promise.reject(new Error("not made here")));
      api.registerCommand(commandOf("pin"));
    });
    const attempts: ((api: PluginApi) => void)[] = [
      (api) => api.registerContextEngine("mine", () => engineOf("mine")),
      (api) => api.registerAgentHarness(harnessOf("pi")),
      (api) => api.registerAgentHarness(harnessOf("other", ["loop"])),
      (api) => api.registerTool(toolOf("look")),
      (api) => api.registerMemory("notes", () => Promise.reject(new Error("not made here"))),
      (api) => api.registerCommand(commandOf("pin")),
    ];
    for (const [index, attempt] of attempts.entries()) {
      const failure = await registry.register(`b${index}`, (api) => {
        api.registerContextEngine(`extra${index}`, first);
        attempt(api);
      });
      assert.match(failure?.reason ?? "", /is registered already by a; disable one/);
    }
    const twice = await registry.register("c", (api) => {
      api.registerTool(toolOf("x"));
      api.registerTool(toolOf("x"));
    });
    assert.match(twice?.reason ?? "", /^The plugin c registers the tool x twice;/);
    const again = await registry.register("a", () => undefined);
    assert.match(again?.reason ?? "", /A plugin with the id a is registered already/);
    assert.deepEqual(registry.engineIds, ["mine"]);
    await registry.engine("mine")?.({});
    assert.equal(calls, 1);
  });

  it("can throw plugin_duplicate_id in the plugin, which may continue without", async () => {
    const registry = registryOf();
    await registry.register("a", (api) => api.registerTool(toolOf("look")));
    const codes: unknown[] = [];
    await registry.register("b", (api) => {
      try {
        api.registerTool(toolOf("look"));
      } catch (error) {
        codes.push((error as { code?: unknown }).code);
      }
      api.registerTool(toolOf("see"));
    });
    assert.deepEqual(codes, ["plugin_duplicate_id"]);
    assert.deepEqual(
      registry.tools.map(({ name }) => name),
      ["look", "see"],
    );
  });

  it("of two at the same time, one gets the id", async () => {
    const registry = registryOf();
    const register = async (api: PluginApi): Promise<void> => {
      api.registerTool(toolOf("look"));
      await Promise.resolve();
    };
    const results = await Promise.all([registry.register("a", register), registry.register("b", register)]);
    assert.equal(results.filter((failure) => failure === undefined).length, 1);
    assert.equal(registry.tools.length, 1);
  });

  it("is checked for invalid values", async () => {
    const registry = registryOf();
    const wrong: [RegExp, (api: PluginApi) => void][] = [
      [
        /written for the contract "other\/9"/,
        (api) => api.registerAgentHarness(harnessOf("h", [], "other/9")),
      ],
      [/without an id/, (api) => api.registerContextEngine("", () => engineOf("x"))],
      [/no function for the factory of the engine x/, (api) => api.registerContextEngine("x", {} as never)],
      [/tool name "a b" is not valid/, (api) => api.registerTool(toolOf("a b"))],
      [/no function for execute/, (api) => api.registerTool({ ...toolOf("x"), execute: 1 as never })],
      [/command name "Pin" is not valid/, (api) => api.registerCommand(commandOf("Pin"))],
      [/no function for run/, (api) => api.registerCommand({ ...commandOf("x"), run: 1 as never })],
      [/no function for the handler/, (api) => api.on("session_start", "x" as never)],
    ];
    for (const [index, [pattern, register]] of wrong.entries()) {
      assert.match((await registry.register(`p${index}`, register))?.reason ?? "", pattern);
    }
  });
});

describe("hooks", () => {
  it("are kept in the order of registration, each with its plugin", async () => {
    const registry = registryOf();
    const calls: string[] = [];
    for (const id of ["a", "b"]) {
      await registry.register(id, (api) => {
        api.on("user_prompt", () => void calls.push(`${id}1`));
        api.on("user_prompt", () => void calls.push(`${id}2`));
      });
    }
    const context = { sessionKey: "k", sessionId: "s", agentId: "main" };
    for (const { handler } of registry.hooks("user_prompt")) await handler({ prompt: "" }, context);
    assert.deepEqual(calls, ["a1", "a2", "b1", "b2"]);
    assert.deepEqual(
      registry.hooks("user_prompt").map(({ pluginId }) => pluginId),
      ["a", "a", "b", "b"],
    );
    assert.deepEqual(registry.hooks("session_end"), []);
  });

  it("that have no counterpart here are reported as not used, not warned of (finding C2)", async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const registry = new PluginRegistry({
      config: {},
      logger: { ...logger, child: () => ({ ...logger, child: silentLogger.child }) },
      baseDir: "/",
      llmComplete: () => Promise.reject(new Error("not called here")),
    });
    const failure = await registry.register("a", (api) =>
      api.on("message_sent" as never, (() => undefined) as never),
    );
    assert.equal(failure, undefined);
    assert.equal(warnings.length, 0);
    assert.deepEqual(registry.facts[0]?.notUsed, ["hook message_sent"]);
  });
});
