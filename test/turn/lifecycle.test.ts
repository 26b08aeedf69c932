import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { AssembleParams } from "../../packages/contract/src/engine/engine-params.ts";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { Pagurus, PagurusOptions } from "../../packages/contract/src/host/host.ts";
import type { RunRequest, TurnRun } from "../../packages/contract/src/host/run.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { recordEngine, recordPlugin } from "../testkit/recorder.ts";
import { modelConfig, type ModelOptions } from "./setting.ts";
import { outline, readBody, type WireBody } from "./wire-bodies.ts";

interface Call {
  name: string;
  params: Record<string, unknown>;
}

/** A pass-through engine that records every call. */
function recorder(calls: Call[], info: Partial<ContextEngine["info"]> = {}): ContextEngine {
  const note = (name: string, params: unknown): void =>
    void calls.push({ name, params: params as Record<string, unknown> });
  return {
    info: { id: "recorder", name: "Recorder", ...info },
    bootstrap: async (params) => (note("bootstrap", params), { bootstrapped: true }),
    ingest: async (params) => (note("ingest", params), { ingested: true }),
    assemble: async (params) => (
      note("assemble", params),
      { messages: params.messages, estimatedTokens: 1, systemPromptAddition: "From the engine." }
    ),
    afterTurn: async (params) => note("afterTurn", params),
    compact: async (params) => (note("compact", params), { ok: true, compacted: false, reason: "nothing" }),
    maintain: async (params) => (
      note("maintain", params),
      { changed: false, bytesFreed: 0, rewrittenEntries: 0 }
    ),
    dispose: async () => note("dispose", {}),
  };
}

describe("the way of a turn", () => {
  let root: string;
  let server: ModelServer;
  let calls: Call[];
  const hosts: Pagurus[] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-lifecycle-"));
    calls = [];
  });
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close();
    await server.close();
    rmSync(root, { recursive: true, force: true });
  });

  interface HostOptions {
    info?: Partial<ContextEngine["info"]>;
    plugin?: (api: PluginApi) => void;
    model?: ModelOptions;
    engine?: string;
    defaults?: Record<string, unknown>;
    more?: Partial<PagurusOptions>;
  }

  async function host(options: HostOptions = {}): Promise<Pagurus> {
    const made = await createPagurus({
      home: join(root, "home"),
      env: { PATH: process.env["PATH"], HOME: root, PAGURUS_NO_PROBE: "1" },
      engines: { recorder: (context) => recordEngine(recorder(calls, options.info), context) },
      ...(options.plugin ? { plugins: { hooks: recordPlugin(options.plugin) } } : {}),
      config: modelConfig("openai-completions", server.url, options.model, {
        agents: { defaults: options.defaults ?? {} },
        plugins: { slots: { contextEngine: options.engine ?? "recorder" } },
      }),
      ...options.more,
    });
    hosts.push(made);
    return made;
  }

  async function play(run: TurnRun): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for await (const event of run) events.push(event);
    return events;
  }

  async function ask(pagurus: Pagurus, prompt: string, more: Partial<RunRequest> = {}): Promise<TurnEvent[]> {
    const events = await play(pagurus.run({ prompt, cwd: root, ...more }));
    assert.equal(events.at(-1)?.type, "turn.completed", JSON.stringify(events.at(-1)));
    return events;
  }

  function body(index: number): WireBody {
    const request = server.requests[index];
    assert.ok(request, `request ${index}`);
    return readBody("openai-completions", request);
  }

  function texts(params: Record<string, unknown>): string[] {
    return (params as unknown as AssembleParams).messages.map((message) => {
      if (typeof message.content === "string") return message.content;
      return message.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("");
    });
  }

  it("calls the engine in the order of the contract, bootstrapping a session that existed once", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: (_request, index) => ({ text: `Reply ${index}.` }),
    });
    const first = await host();
    await ask(first, "One");
    await ask(first, "Two");
    await first.close();
    const second = await host();
    await ask(second, "Three");
    await ask(second, "Four");
    await second.close();
    hosts.length = 0;
    assert.deepEqual(
      calls.map((call) => call.name),
      [
        "assemble",
        "afterTurn",
        "maintain",
        "assemble",
        "afterTurn",
        "maintain",
        "dispose",
        "bootstrap",
        "maintain",
        "assemble",
        "afterTurn",
        "maintain",
        "assemble",
        "afterTurn",
        "maintain",
        "dispose",
      ],
    );
  });

  it("passes a turn-scoped engine the history without the input, the input as the prompt, once a turn", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: [
        { text: "Reply." },
        { toolCalls: [{ id: "c1", name: "glob", arguments: { pattern: "*" } }] },
        { text: "Done." },
      ],
    });
    const pagurus = await host();
    await ask(pagurus, "One");
    await ask(pagurus, "Two");
    const assembles = calls.filter((call) => call.name === "assemble").map((call) => call.params);
    assert.equal(assembles.length, 2);
    const [, second] = assembles;
    assert.ok(second);
    assert.deepEqual(texts(second), ["One", "Reply."]);
    assert.equal(second["prompt"], "Two");
    assert.equal(second["model"], "model");
    assert.ok((second["availableTools"] as Set<string>).has("read"));
    assert.ok(Number(second["tokenBudget"]) > 0);
    const context = second["runtimeContext"] as Record<string, unknown>;
    for (const key of [
      "config",
      "provider",
      "model",
      "agentId",
      "tokenBudget",
      "tokens",
      "llm",
      "transcript",
      "allowDeferredCompactionExecution",
    ]) {
      assert.ok(key in context, `runtimeContext.${key}`);
    }
    const after = calls.findLast((call) => call.name === "afterTurn")?.params;
    assert.ok(after);
    assert.equal(after["prePromptMessageCount"], 2);
    assert.deepEqual(texts(after), ["One", "Reply.", "Two", "[toolCall]", texts(after)[4] ?? "", "Done."]);
    assert.ok(
      String(after["sessionFile"]).endsWith(`.mirror/${String(after["sessionId"])}.jsonl`),
      "a foreign engine gets a copy, never our file",
    );
    assert.match(readFileSync(String(after["sessionFile"]), "utf8"), /"Done\."/);
  });

  it("calls a call-scoped engine before every model call, with the live turn and without the prompt from the second on", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: [{ toolCalls: [{ id: "c1", name: "glob", arguments: { pattern: "*" } }] }, { text: "Done." }],
    });
    const pagurus = await host({ info: { assembleScope: "call" } });
    await ask(pagurus, "One");
    const [first, second] = calls.filter((call) => call.name === "assemble").map((call) => call.params);
    assert.ok(first && second);
    assert.deepEqual(texts(first), []);
    assert.equal(first["prompt"], "One");
    assert.equal(texts(second).length, 3);
    assert.ok(!("prompt" in second));
    assert.deepEqual(outline(body(1)), ["user:One", "call:glob", "result"]);
  });

  it("prepends the engine's addition to the system prompt, after the hooks' text was added", async () => {
    server = await startServer({ protocol: "openai-completions", script: [{ text: "Reply." }] });
    let seen = "";
    const pagurus = await host({
      plugin: (api) =>
        api.on("before_prompt_build", ({ system, prompt, messages }) => {
          seen = `${system.slice(0, 20)}|${prompt}|${messages.length}`;
          return { prependSystemContext: "Hook before.", appendSystemContext: "Hook after." };
        }),
    });
    await ask(pagurus, "One");
    const { system } = body(0);
    assert.match(system, /^From the engine\.\n\nHook before\.\n\nYou are an agent[\s\S]*\n\nHook after\.$/);
    assert.match(seen, /^You are an agent tha.*\|One\|1$/);
  });

  it("blocks an input when a gate blocks it, and when the gate itself fails", async () => {
    server = await startServer({ protocol: "openai-completions", script: [] });
    const pagurus = await host({
      plugin: (api) =>
        api.on("user_prompt", ({ prompt }) => {
          if (prompt.includes("break")) throw new Error("the gate broke");
          return { block: true, reason: "not today" };
        }),
    });
    for (const prompt of ["One", "break"]) {
      const last = (await play(pagurus.run({ prompt, cwd: root }))).at(-1);
      assert.ok(last?.type === "turn.failed" && last.error.code === "prompt_blocked", JSON.stringify(last));
    }
    assert.equal(server.requests.length, 0);
    assert.equal(pagurus.sessions().find("main"), undefined, "a blocked input leaves no session behind");
  });

  it("lets a hook block and rewrite tool calls, and reports it to the model", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: [
        {
          toolCalls: [
            { id: "c1", name: "shell", arguments: { command: "echo no" } },
            { id: "c2", name: "shell", arguments: { command: "echo old" } },
          ],
        },
        { text: "Done." },
      ],
    });
    const pagurus = await host({
      plugin: (api) =>
        api.on("before_tool_call", ({ params }) =>
          params["command"] === "echo no"
            ? { block: true, blockReason: "never" }
            : { params: { command: "echo new" } },
        ),
    });
    await ask(pagurus, "One");
    const results = body(1).messages.flatMap((message) => message.results.map((result) => result.text));
    assert.match(results[0] ?? "", /never/);
    assert.match(results[1] ?? "", /new/);
  });

  it("takes steering input into the turn before its next model call, once", async () => {
    let run: TurnRun | undefined;
    server = await startServer({
      protocol: "openai-completions",
      script: (_request, index) => {
        if (index === 0) {
          assert.equal(run?.steer("Also mind the fog."), true);
          return { toolCalls: [{ id: "c1", name: "glob", arguments: { pattern: "*" } }] };
        }
        return { text: "Done." };
      },
    });
    const pagurus = await host();
    run = pagurus.run({ prompt: "One", cwd: root });
    const events = await play(run);
    assert.ok(events.some((event) => event.type === "steered"));
    assert.deepEqual(outline(body(1)), ["user:One", "call:glob", "result", "user:Also mind the fog."]);
    assert.equal(run.steer("Too late."), false);
  });

  it("answers steering input that arrives with the last output of the turn", async () => {
    let run: TurnRun | undefined;
    server = await startServer({
      protocol: "openai-completions",
      script: (_request, index) => {
        if (index === 0) run?.steer("And then?");
        return { text: `Reply ${index}.` };
      },
    });
    const pagurus = await host();
    run = pagurus.run({ prompt: "One", cwd: root });
    await play(run);
    assert.deepEqual(outline(body(1)), ["user:One", "assistant:Reply 0.", "user:And then?"]);
  });

  it("offers a turn that a crash interrupted before the next one", async () => {
    server = await startServer({ protocol: "openai-completions", script: [{ text: "Reply." }] });
    const pagurus = await host();
    const writer = pagurus.sessions().openWriter("main", { cwd: root, create: true });
    writer.append({
      type: "message",
      turnId: "t-crashed",
      message: { role: "user", content: "Before the crash" },
    });
    writer.close();
    const events = await ask(pagurus, "One");
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "interrupted_turn"));
    const offered = calls
      .filter((call) => call.name === "afterTurn")
      .map((call) => texts(call.params).slice(Number(call.params["prePromptMessageCount"])));
    assert.deepEqual(offered, [["Before the crash"], ["One", "Reply."]]);
  });

  it("keeps a receipt of every request: parts in order, shared prefix, usage", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: [{ toolCalls: [{ id: "c1", name: "glob", arguments: { pattern: "*" } }] }, { text: "Done." }],
    });
    const pagurus = await host();
    await ask(pagurus, "One");
    const receipts = await pagurus.context.receipts({});
    assert.equal(receipts.length, 2);
    const [first, second] = receipts;
    assert.ok(first && second);
    assert.deepEqual(
      first.parts.map((part) => part.source),
      ["addition", "system", "tools", "live"],
    );
    assert.deepEqual(second.parts.map((part) => part.role).slice(3), ["user", "assistant", "toolResult"]);
    assert.equal(second.sharedParts, 4, "the first request is a prefix of the second");
    assert.ok(second.usage && second.usage.input > 0);
    assert.equal(second.engine, "recorder");
    const reader = pagurus.sessions().openReader("main");
    for (const part of second.parts.slice(3))
      assert.ok(await reader.cursor.get(part.entryId ?? ""), "each part names its entry");
    reader.close();
    const folder = dirname(pagurus.sessions().find("main")?.file ?? "");
    const file = readdirSync(folder).find((name) => name.endsWith(".receipts.jsonl"));
    assert.ok(
      !readFileSync(join(folder, file ?? ""), "utf8").includes("Done."),
      "no contents in the receipts",
    );
  });

  it("previews the context and stores nothing", async () => {
    server = await startServer({ protocol: "openai-completions", script: [{ text: "Reply." }] });
    const pagurus = await host({ engine: "legacy" });
    await ask(pagurus, "One");
    const folder = dirname(pagurus.sessions().find("main")?.file ?? "");
    const before = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    const preview = await pagurus.context.preview({ prompt: "Two", cwd: root });
    assert.deepEqual(
      preview.messages.map((message) => message.role),
      ["user", "assistant", "user"],
    );
    assert.match(preview.system, /^You are an agent/);
    const exact = await pagurus.context.preview({ prompt: "Two", cwd: root, exact: true });
    assert.ok(
      Math.abs((exact.exactTokens ?? 0) / exact.receipt.tokens - 1) < 0.15,
      `${exact.exactTokens} of about ${exact.receipt.tokens}`,
    );
    const small = await pagurus.context.preview({ prompt: "Two", cwd: root, budget: 12 });
    assert.deepEqual(
      small.messages.map((message) => message.role),
      ["user"],
      "a small budget leaves the history out",
    );
    assert.equal(server.requests.length, 1);
    assert.deepEqual(
      readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8")),
      before,
    );
  });

  it("trims a large tool result the same way from its first request on, and the receipt names it", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: [
        { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "seq 1 4000" } }] },
        { text: "Done." },
        { text: "Again." },
      ],
    });
    const pagurus = await host({ defaults: { toolResultMaxChars: 2_000 } });
    await ask(pagurus, "One");
    await ask(pagurus, "Two");
    const sent = [1, 2].map(
      (index) => body(index).messages.flatMap((message) => message.results)[0]?.text ?? "",
    );
    assert.ok((sent[0] ?? "").length < 2_400);
    assert.equal(sent[0], sent[1]);
    const trimmed = (await pagurus.context.receipts({})).flatMap((receipt) =>
      receipt.parts.filter((part) => part.trimmed),
    );
    assert.equal(trimmed.length, 1);
  });

  it("reports a silent cut of the input by a server that truncates", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: [{ text: "Reply.", usage: { input: 2_048, output: 3 } }],
    });
    const pagurus = await createPagurus({
      home: join(root, "home"),
      env: { PATH: process.env["PATH"], HOME: root },
      config: {
        models: {
          providers: {
            lab: {
              api: "openai-completions",
              baseUrl: server.url,
              models: [{ id: "m", contextWindow: 60_000, truncatesSilently: true }],
            },
          },
        },
        agents: { defaults: { model: "lab/m" } },
      },
    });
    hosts.push(pagurus);
    const events = await ask(pagurus, "The harbour wall was built in 1871. ".repeat(2_000));
    const degraded = events.find((event) => event.type === "context.degraded");
    assert.ok(degraded?.type === "context.degraded");
    assert.match(degraded.reason, /2048 input tokens/);
  });

  it("refuses a second turn of a session with a running one", async () => {
    server = await startServer({
      protocol: "openai-completions",
      script: [{ text: "Reply.", delayMs: 300 }, { text: "Reply." }],
    });
    const first = await host();
    const second = await host();
    const running = first.run({ prompt: "One", cwd: root });
    const iterator = running[Symbol.asyncIterator]();
    await iterator.next();
    const writer = first.sessions().find("main");
    assert.ok(writer);
    const last = (await play(second.run({ prompt: "Two", cwd: root }))).at(-1);
    assert.ok(last?.type === "turn.failed" && last.error.code === "session_locked", JSON.stringify(last));
    assert.match(last.error.message, /already running in this process/);
    while (!(await iterator.next()).done);
  });
});
