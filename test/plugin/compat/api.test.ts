import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PluginTool, ToolContext } from "../../../packages/contract/src/host/plugin.ts";
import { askedOfHost } from "../../../packages/host/src/plugin/compat/plugin-api.ts";
import type { PluginRegistry } from "../../../packages/host/src/plugin/registry.ts";
import { loadFrom, openClawPlugin, reasons, reportedBy } from "./load-plugins.ts";

const CONTEXT: ToolContext = {
  sessionKey: "main",
  sessionId: "one",
  cwd: "/somewhere",
  signal: new AbortController().signal,
};

function toolOf(registry: PluginRegistry, name: string): PluginTool {
  const tool = registry.tools.find((found) => found.name === name);
  assert.ok(tool, reasons(registry).join(" ") || name);
  return tool;
}

const SAYS = (text: string): string =>
  `api.registerTool({ name: "says", description: String(${text}), execute: async () => ({ content: [] }) });`;

const IDS = { sessionKey: "main", sessionId: "one", agentId: "main", turnId: "t1" };

describe("the api of OpenClaw", () => {
  it("has the members that engines take, and lacks the ones that they test for", async () => {
    const registry = await loadFrom(
      openClawPlugin(`
        const log = api.runtime.logging.getChildLogger({ plugin: "claw" });
        log.info("registers");
        const has = [api.id, api.registrationMode, typeof api.resolvePath, typeof api.runtime.llm.complete,
          api.runtime.config.current().models.mark, api.runtime.config.loadConfig() === api.config,
          api.source.endsWith("index.js"), typeof api.session?.controls, api.runtime.agent?.session, api.usage];
        ${SAYS('has.join(" ")')}`),
      { config: { models: { mark: "configured" } } },
    );
    assert.equal(reportedBy(registry), "claw full function function configured true true object  ");
    assert.deepEqual(askedOfHost("claw").missing, ["api.runtime.agent", "api.usage"]);
    assert.ok(askedOfHost("claw").used.includes("api.runtime.llm"));
  });

  it("names the missing member without which a plugin cannot register", async () => {
    const registry = await loadFrom(openClawPlugin("api.acceptHttp({});"));
    assert.match(
      reasons(registry)[0] ?? "",
      /^The plugin claw needs api\.acceptHttp of OpenClaw, which this host/,
    );
  });

  it("keeps a plugin's own errors", async () => {
    const registry = await loadFrom(openClawPlugin('api.session; throw new TypeError("no key is set");'));
    assert.deepEqual(reasons(registry), ["no key is set"]);
  });

  it("does not let a plugin change the host's configuration", async () => {
    const config = { models: { mark: "configured" } };
    await loadFrom(openClawPlugin('api.config.models.mark = "changed";'), { config });
    assert.equal(config.models.mark, "configured");
  });

  it("takes an engine whose bootstrap answers nothing, and leaves the rest of it as it is", async () => {
    const registry = await loadFrom(
      openClawPlugin(`class Engine {
          #seen = [];
          info = { id: "e", name: "E" };
          async bootstrap({ sessionId }) { this.#seen.push(sessionId); if (sessionId === "asked") return { bootstrapped: false }; }
          async ingest() { return { ingested: this.#seen.length > 0 }; }
        }
        api.registerContextEngine("e", () => new Engine());`),
    );
    const engine = await registry.engine("e")({});
    const ask = (sessionId: string) => engine.bootstrap?.({ sessionId, sessionFile: "x" });
    assert.deepEqual(await ask("first"), { bootstrapped: true });
    assert.deepEqual(await ask("asked"), { bootstrapped: false });
    assert.deepEqual(await engine.ingest({ sessionId: "s", message: { role: "user", content: "x" } }), {
      ingested: true,
    });
    assert.equal(engine.info.id, "e");
    assert.equal(engine.commitTurn, undefined);
  });

  it("treats a summary without a first kept entry as the engine's own compaction", async () => {
    const registry = await loadFrom(
      openClawPlugin(`const answers = [
          { ok: true, compacted: true, result: { summary: "pruned", tokensBefore: 9, tokensAfter: 4 } },
          { ok: true, compacted: true, result: { summary: "text", firstKeptEntryId: "e", tokensBefore: 9 } },
          { ok: true, compacted: true },
          undefined,
        ];
        api.registerContextEngine("e", () => ({ info: { id: "e" }, compact: async () => answers.shift() }));`),
    );
    const engine = await registry.engine("e")({});
    const params = { sessionId: "s", sessionFile: "x" };
    const answers = [];
    for (const _ of [1, 2, 3, 4]) answers.push(await engine.compact(params));
    assert.deepEqual(answers, [
      { ok: true, compacted: true, result: { tokensBefore: 9, tokensAfter: 4 } },
      { ok: true, compacted: true, result: { summary: "text", firstKeptEntryId: "e", tokensBefore: 9 } },
      { ok: true, compacted: true },
      undefined,
    ]);
  });

  it("accepts a frozen engine", async () => {
    const registry = await loadFrom(
      openClawPlugin(`const engine = { info: { id: "e" }, bootstrap: async () => undefined, compact: async () => ({ ok: true, compacted: false }) };
        api.registerContextEngine("e", () => Object.freeze(engine));`),
    );
    const engine = await registry.engine("e")({});
    assert.deepEqual(await engine.bootstrap?.({ sessionId: "s", sessionFile: "x" }), { bootstrapped: true });
    assert.deepEqual(["compact" in engine, "commitTurn" in engine], [true, false]);
  });

  it("refuses a non-function at registration, and names a duplicate registration", async () => {
    const reason = async (body: string): Promise<string> =>
      reasons(await loadFrom(openClawPlugin(body))).join();
    const none = "undefined";
    assert.match(
      await reason(`api.on("session_start", ${none});`),
      /no function for the handler of the hook/,
    );
    assert.match(await reason(`api.registerContextEngine("e", ${none});`), /no function for the factory of/);
    const twice = 'api.registerContextEngine("e", () => ({}));';
    assert.match(await reason(twice + twice), /^The plugin claw registers the engine e twice;/);
  });

  it("reports with a failure which OpenClaw members are missing", async () => {
    const reason = async (body: string, head?: string): Promise<string> =>
      reasons(await loadFrom(openClawPlugin(body, head))).join();
    assert.match(
      await reason("api.runtime.tts.speak();"),
      /it had asked OpenClaw for api\.runtime\.tts, which/,
    );
    const sdk = 'import * as sdk from "openclaw/plugin-sdk";';
    assert.match(await reason("sdk.nothing();", sdk), /nothing is not a function \(perhaps it is a name of/);
    assert.match(
      await reason("", 'import "openclaw";'),
      /^The plugin imports openclaw, which this host does not/,
    );
  });

  it("starts and stops a plugin's service with the host", async () => {
    const registry = await loadFrom(
      openClawPlugin(`const seen = [];
        api.registerService({ id: "s", start: () => seen.push("start"), stop: () => seen.push("stop") });
        api.registerCommand({ name: "seen", description: "Says.", handler: () => ({ text: seen.join() }) });`),
    );
    const none = { sessionKey: "", sessionId: "", agentId: "main" };
    await registry.hooks("gateway_start")[0]?.handler({}, none);
    await registry.hooks("gateway_stop")[0]?.handler({}, none);
    const [command] = registry.commands;
    const context = { ...CONTEXT, agentId: "main", transcript: undefined as never };
    assert.equal(await command?.run("", context), "start,stop");
    assert.equal(command?.summary, "Says.");
  });
});

describe("a tool of OpenClaw's", () => {
  it("gets the id of its call, its arguments and a signal, and answers parts", async () => {
    const registry = await loadFrom(
      openClawPlugin(`api.registerTool({ name: "one", label: "One", parameters: { type: "object", [Symbol.for("kind")]: 1 },
        execute: async (id, params, signal) => ({
          content: [{ type: "text", text: [typeof id, params.a, signal.aborted].join() }, { type: "strange" }],
          details: { a: 1 },
        }) }, { name: "one" });`),
    );
    const tool = toolOf(registry, "one");
    assert.equal(tool.description, "One");
    assert.deepEqual(tool.parameters, { type: "object" });
    assert.deepEqual(await tool.execute({ a: 5 }, CONTEXT), {
      content: [{ type: "text", text: "string,5,false" }],
      isError: false,
      details: { a: 1 },
    });
  });

  it("that answers a text or a value is supported, and one that throws has failed", async () => {
    const registry = await loadFrom(
      openClawPlugin(`
        api.registerTool({ name: "text", execute: () => "said" });
        api.registerTool({ name: "value", execute: () => ({ found: 2 }) });
        api.registerTool({ name: "wrong", execute: () => ({ content: [{ type: "text", text: "no" }], isError: true }) });
        api.registerTool({ name: "throws", execute: () => { throw new Error("not today"); } });`),
    );
    const text = async (name: string) => (await toolOf(registry, name).execute({}, CONTEXT)).content;
    assert.deepEqual(await text("text"), [{ type: "text", text: "said" }]);
    assert.deepEqual(await text("value"), [{ type: "text", text: '{"found":2}' }]);
    assert.equal((await toolOf(registry, "wrong").execute({}, CONTEXT)).isError, true);
    await assert.rejects(async () => toolOf(registry, "throws").execute({}, CONTEXT), /not today/);
  });

  it("with a factory per session is created once per session", async () => {
    const registry = await loadFrom(
      openClawPlugin(`let made = 0;
        api.registerTool(({ sessionId }) => {
          made += 1;
          if (sessionId === "none") return null;
          return [{ name: "where", execute: () => [sessionId, made].join() }, { name: "other", execute: () => "x" }];
        });`),
    );
    const ask = async (sessionId: string) => {
      const { content } = await toolOf(registry, "where").execute({}, { ...CONTEXT, sessionId });
      return content[0]?.type === "text" ? content[0].text : "";
    };
    assert.deepEqual(
      [await ask("a"), await ask("a"), await ask("b"), await ask("a")],
      ["a,2", "a,2", "b,3", "a,3"],
    );
    assert.deepEqual(registry.tools.map(({ name }) => name).toSorted(), ["other", "where"]);
    await assert.rejects(() => ask("none"), /makes no tool where for this session/);
  });

  it("whose factory fails without a session is created for one", async () => {
    const registry = await loadFrom(
      openClawPlugin(
        'api.registerTool(({ sessionKey }) => ({ name: "needs", execute: () => sessionKey.toUpperCase(), description: sessionKey.slice(1) }));',
      ),
    );
    const { content } = await toolOf(registry, "needs").execute({}, CONTEXT);
    assert.deepEqual(content, [{ type: "text", text: "MAIN" }]);
  });

  it("for sessions only is offered, and one that is never created is logged", async () => {
    const { registry, warned } = await loadLogged(`
      api.registerTool(({ sessionKey }) => (sessionKey ? { name: "needs", execute: () => sessionKey } : null));
      api.registerTool(() => null, { name: "never" });`);
    const { content } = await toolOf(registry, "needs").execute({}, CONTEXT);
    assert.deepEqual(content, [{ type: "text", text: "main" }]);
    assert.deepEqual(warned, [{ tools: { name: "never" } }]);
  });
});

/** A plugin whose `register(api)` has this body, and the fields of what it was warned of. */
async function loadLogged(body: string) {
  const warned: unknown[] = [];
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (_text: string, fields?: unknown) => void warned.push(fields),
    error: () => undefined,
    child: () => logger,
  };
  const registry = await loadFrom(openClawPlugin(body), { logger });
  assert.deepEqual(reasons(registry), []);
  return { registry, warned };
}

describe("a hook of OpenClaw's", () => {
  const ids = { sessionKey: "main", sessionId: "one", agentId: "main" };

  it("gets the ended session and the one that follows", async () => {
    const { registry } = await loadLogged(
      'api.on("session_end", (event) => { globalThis.pagurusEnded = event; });',
    );
    await registry.hooks("session_end")[0]?.handler({ reason: "new", nextSessionId: "two" }, ids);
    assert.deepEqual((globalThis as Record<string, unknown>)["pagurusEnded"], {
      reason: "new",
      sessionId: "one",
      sessionKey: "main",
      nextSessionId: "two",
      nextSessionKey: "main",
    });
  });

  it("may add to the system prompt; text for the prompt goes to its end, which is logged once", async () => {
    const { registry, warned } = await loadLogged(`api.registerHook(["before_prompt_build"], () => ({
      prependSystemContext: "first", prependContext: "recalled", appendSystemContext: "last" }));`);
    const payload = { prompt: "p", system: "s", messages: [] };
    const [hook] = registry.hooks("before_prompt_build");
    for (const _ of [1, 2]) {
      const answer = await hook?.handler(payload, ids);
      assert.equal(answer?.prependSystemContext, "first");
      assert.equal(answer?.appendSystemContext, "last\n\nrecalled");
    }
    assert.deepEqual(warned, [{ fields: ["prependContext"] }]);
  });

  it("may not replace the system prompt", async () => {
    const { registry } = await loadLogged('api.on("before_prompt_build", () => ({ systemPrompt: "mine" }));');
    const [hook] = registry.hooks("before_prompt_build");
    await assert.rejects(
      async () => hook?.handler({ prompt: "p", system: "s", messages: [] }, ids),
      /replaces the system prompt/,
    );
  });

  it("that requires an approval blocks the call: plugins have no one to ask here", async () => {
    const { registry } = await loadLogged(
      'api.on("before_tool_call", (event) => (event.params.quiet ? { params: {} } : { requireApproval: { title: "Sure?" } }));',
    );
    const [hook] = registry.hooks("before_tool_call");
    const ask = async (params: Record<string, unknown>) =>
      hook?.handler({ toolCallId: "1", toolName: "exec", params }, ids);
    assert.deepEqual(await ask({ quiet: true }), { params: {} });
    const held = await ask({});
    assert.equal(held?.block, true);
    assert.match(held?.blockReason ?? "", /wants this call approved/);
  });

  it("that has no counterpart here is reported as not used, and the rest of the plugin works (finding C1)", async () => {
    const { registry, warned } = await loadLogged(
      `api.on("before_dispatch", () => undefined); api.on("model_call_started", () => undefined); ${SAYS("1")}`,
    );
    assert.deepEqual(warned, []);
    assert.deepEqual(registry.facts, [
      {
        id: "claw",
        notUsed: ["hook before_dispatch", "hook model_call_started"],
        idleGates: ["hook before_dispatch"],
        errors: [],
      },
    ]);
    assert.equal(reportedBy(registry), "1");
  });

  it("are reported for a field of an answer that has no effect here, once", async () => {
    const { registry } = await loadLogged(
      `api.on("before_prompt_build", () => ({ appendSystemContext: "Hm.", cacheBreak: true })); ${SAYS("1")}`,
    );
    const [hook] = registry.hooks("before_prompt_build");
    for (const prompt of ["One", "Two"]) await hook?.handler({ prompt, system: "", messages: [] }, IDS);
    assert.deepEqual(registry.facts[0]?.notUsed, ["answer field cacheBreak of the hook before_prompt_build"]);
  });
});
