import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HookName } from "../../../packages/contract/src/host/hooks.ts";
import type { ToolContext } from "../../../packages/contract/src/host/plugin.ts";
import { loadFrom, openClawPlugin, reasons, reportedBy } from "./load-plugins.ts";

const CONTEXT: ToolContext = {
  sessionKey: "main",
  sessionId: "one",
  cwd: "/somewhere",
  signal: new AbortController().signal,
};
const IDS = { sessionKey: "main", sessionId: "one", agentId: "main", turnId: "t1" };

describe("what OpenClaw's api registers and this host does not use", () => {
  it("is accepted and reported by its kind and name (finding C1)", async () => {
    const registry = await loadFrom(
      openClawPlugin(`
        api.registerGatewayMethod("claw.status", () => undefined, { scope: "operator.read" });
        api.registerHttpRoute({ path: "/claw", auth: "plugin", handler: () => true });
        api.registerProvider({ id: "clawai", label: "Claw" });
        api.registerMemoryCapability({ promptBuilder: () => [] });
        api.registerChannel({ plugin: { id: "clawchat", meta: {} } });
        api.registerSessionCatalog({ id: "sessions" });
        api.registerNodeHostCommand({ command: "claw.run" });
        api.registerMediaUnderstandingProvider({ id: "eyes" });
        api.registerWebSearchProvider({ id: "find" });
        api.registerMigrationProvider({ id: "move" });
        api.registerToolMetadata({ toolName: "x" });
        api.registerTranscriptSourceProvider({ id: "meetings" });
        api.registerSomethingOfNextYear({ id: "later" });
        api.session.controls.registerSessionAction({ id: "pin" });
        api.lifecycle.registerRuntimeLifecycle({ id: "life", cleanup: () => undefined });
        api.runtime.events.onAgentEvent(() => undefined)();`),
    );
    assert.deepEqual(reasons(registry), []);
    assert.deepEqual(registry.facts[0]?.notUsed, [
      "gateway method claw.status",
      "HTTP route /claw",
      "model provider clawai",
      "memory capability",
      "channel clawchat",
      "session catalog sessions",
      "node host command claw.run",
      "media understanding provider eyes",
      "web search provider find",
      "migration provider move",
      "tool metadata",
      "transcript source provider meetings",
      "something of next year later",
      "session action pin",
      "listener for agent events",
    ]);
  });

  it("costs a tool whose name is taken only that tool (finding C8)", async () => {
    const registry = await loadFrom(
      openClawPlugin(`
        api.registerTool({ name: "shell", execute: () => "x" });
        api.registerTool({ name: "mine", execute: () => "x" });
        api.registerTool({ name: "mine", execute: () => "y" });`),
    );
    assert.deepEqual(reasons(registry), []);
    assert.deepEqual(
      registry.tools.map(({ name }) => name),
      ["mine"],
    );
    assert.match(registry.facts[0]?.notUsed[0] ?? "", /^tool shell \(.* is registered already by pagurus\)$/);
  });
});

describe("names of commands", () => {
  it("may have a colon and underscores, and further names of code and manifest (finding C5)", async () => {
    const files = openClawPlugin(`
      api.registerCommand({ name: "lcm", nativeNames: { default: "lossless" }, handler: () => "ok" });
      api.registerCommand({ name: "orch:status", handler: () => "ok" });
      api.registerCommand({ name: "two_words", handler: () => "ok" });`);
    const manifest = { id: "claw", commandAliases: [{ name: "context", command: "lcm" }] };
    const registry = await loadFrom({ ...files, "claw/openclaw.plugin.json": JSON.stringify(manifest) });
    assert.deepEqual(reasons(registry), []);
    assert.deepEqual(
      registry.commands.map(({ name, aliases }) => [name, aliases]),
      [
        ["lcm", ["context", "lossless"]],
        ["orch:status", undefined],
        ["two_words", ["two-words"]],
      ],
    );
  });
});

describe("OpenClaw's runtime", () => {
  it("runs a command, keeps values by key, queues a text for the next turn, and shows the configuration (finding C3)", async () => {
    const registry = await loadFrom(
      openClawPlugin(`api.registerTool({ name: "all", execute: async () => {
        const { system, state, config } = api.runtime;
        const ran = await system.runCommandWithTimeout([process.execPath, "-e", "process.stdout.write('out'); process.exitCode = 3"], { timeoutMs: 60000 });
        const late = await system.runCommandWithTimeout([process.execPath, "-e", "setInterval(() => 0, 1000)"], 200);
        const store = state.openKeyedStore({ namespace: "seen", maxEntries: 2 });
        for (const key of ["a", "b", "c"]) await store.register(key, { key });
        const again = await store.registerIfAbsent("c", 1);
        const gone = await store.lookup("a");
        const taken = await store.consume("b");
        const left = (await store.entries()).map(({ key }) => key);
        const queued = [system.enqueueSystemEvent("door opened", { sessionKey: "agent:main:main" }), system.enqueueSystemEvent("door opened", { sessionKey: "agent:main:main" })];
        return { ran: [ran.code, ran.stdout, ran.termination], late: [late.killed, late.termination], again, gone, taken, left, queued, mark: config.current().models.mark };
      } });`),
      { config: { models: { mark: "configured" } } },
    );
    const outcome = await registry.tools[0]?.execute({}, CONTEXT);
    const [part] = outcome?.content ?? [];
    assert.deepEqual(JSON.parse(part?.type === "text" ? part.text : "{}"), {
      ran: [3, "out", "exit"],
      late: [true, "timeout"],
      again: false,
      taken: { key: "b" },
      left: ["c"],
      queued: [true, false],
      mark: "configured",
    });
    const event = { plugin_claw: { value: "door opened", kind: "untrusted" } };
    assert.deepEqual(registry.systemEvents.take("main", "main"), event);
    assert.deepEqual(registry.systemEvents.take("main", "main"), {});
    registry.close();
  });
});

describe("OpenClaw's hooks", () => {
  const received = async (hook: string, as: HookName, payload: object, answer = "undefined") => {
    const slot = `pagurusHeard_${hook.replaceAll(/\W/g, "_")}`;
    const register = hook.includes(":") ? "registerHook" : "on";
    const registry = await loadFrom(
      openClawPlugin(
        `api.${register}("${hook}", (event) => { globalThis.${slot} = event; return ${answer}; });`,
      ),
    );
    assert.deepEqual([reasons(registry), registry.facts], [[], []]);
    const result: unknown = await registry.hooks(as)[0]?.handler(payload as never, IDS);
    return { event: (globalThis as Record<string, unknown>)[slot] as Record<string, unknown>, result };
  };
  const prompt = { prompt: "p", system: "s", messages: [] };

  it("before_agent_start and agent:bootstrap add to the system prompt (finding C2)", async () => {
    const start = await received(
      "before_agent_start",
      "before_prompt_build",
      prompt,
      '{ prependContext: "recalled" }',
    );
    assert.equal((start.result as Record<string, unknown>)["appendSystemContext"], "recalled");
    const registry = await loadFrom(
      openClawPlugin(
        'api.registerHook("agent:bootstrap", (event) => { event.context.bootstrapFiles.push({ name: "RULES.md", content: "be kind" }); });',
      ),
    );
    const [hook] = registry.hooks("before_prompt_build");
    assert.deepEqual(await hook?.handler(prompt, IDS), { appendSystemContext: "# RULES.md\n\nbe kind" });
  });

  it("before_agent_run is a gate that blocks any outcome but pass (finding C2)", async () => {
    const payload = { prompt: "p" };
    const ask = async (answer: string) =>
      (await received("before_agent_run", "user_prompt", payload, answer)).result;
    assert.equal(await ask('{ outcome: "pass" }'), undefined);
    assert.deepEqual(await ask('{ outcome: "block", reason: "no" }'), { block: true, reason: "no" });
    assert.deepEqual(await ask('{ outcome: "ask", reason: "sure?" }'), { block: true, reason: "sure?" });
  });

  it("get messages, answers, ends and children with OpenClaw's fields (finding C2)", async () => {
    const message = await received("message_received", "message_received", { content: "hi", timestamp: 1 });
    assert.deepEqual([message.event["content"], message.event["from"]], ["hi", "user"]);
    const output = await received("llm_output", "llm_output", {
      assistantTexts: ["a"],
      provider: "test",
      model: "small",
      usage: { input: 1, output: 2, totalTokens: 3 },
    });
    assert.deepEqual([output.event["runId"], output.event["sessionId"]], ["t1", "one"]);
    assert.equal(output.event["resolvedRef"], "test/small");
    assert.equal((output.event["usage"] as { total: number }).total, 3);
    const end = await received("agent_end", "agent_end", { messages: [], success: true });
    assert.deepEqual([end.event["runId"], end.event["success"]], ["t1", true]);
    const child = await received("subagent_ended", "subagent_ended", {
      childSessionKey: "c",
      reason: "completed",
      outcome: "failed",
    });
    const { targetSessionKey, targetKind, outcome } = child.event;
    assert.deepEqual([targetSessionKey, targetKind, outcome], ["c", "subagent", "error"]);
    const started = await received("subagent_spawned", "subagent_spawned", {
      childSessionKey: "c",
      parentSessionKey: "p",
    });
    const { agentId, mode, threadRequested } = started.event;
    assert.deepEqual([agentId, mode, threadRequested], [IDS.agentId, "run", false]);
    const failed = await received("after_tool_call", "after_tool_call", {
      toolCallId: "1",
      toolName: "read",
      params: {},
      outcome: { content: [{ type: "text", text: "There is no such file." }], isError: true },
      durationMs: 1,
    });
    assert.deepEqual([failed.event["runId"], failed.event["error"]], ["t1", "There is no such file."]);
  });

  it("tool_result_persist changes the result that is recorded (finding C2)", async () => {
    const outcome = { content: [{ type: "text", text: "secret" }], isError: false };
    const { event, result } = await received(
      "tool_result_persist",
      "tool_result_persist",
      { toolCallId: "1", toolName: "read", outcome },
      '{ message: { ...event.message, content: [{ type: "text", text: "[cut]" }] } }',
    );
    assert.equal((event["message"] as Record<string, unknown>)["role"], "toolResult");
    assert.deepEqual(result, { outcome: { content: [{ type: "text", text: "[cut]" }], isError: false } });
  });
});

describe("imports of a plugin for OpenClaw", () => {
  it("get param-readers, names of subpaths that are not here until they are called, and zod (finding C7)", async () => {
    const registry = await loadFrom(
      openClawPlugin(
        'api.registerTool({ name: "says", description: [readStringParam({ a: " x " }, "a"), typeof sendIt, z.string().parse("zod")].join(), execute: () => sendIt() });',
        `import { readStringParam } from "openclaw/plugin-sdk/param-readers";
import { sendIt } from "openclaw/plugin-sdk/telegram-runtime";
import * as all from "openclaw/plugin-sdk/telegram-core";
import "openclaw/plugin-sdk/telegram-setup";
import { z } from "zod";`,
      ),
    );
    assert.deepEqual(reasons(registry), []);
    assert.equal(reportedBy(registry), "x,function,zod");
    await assert.rejects(
      async () => registry.tools[0]?.execute({}, CONTEXT),
      /calls sendIt of openclaw\/plugin-sdk\/telegram-runtime, which this host does not have/,
    );
  });
});
