import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import type { McpServerConfig } from "../../packages/core/src/config/config-types.ts";
import { modelConfig } from "../turn/setting.ts";
import { processIsAlive } from "../../packages/core/src/platform/process-group.ts";
import { Bench, eventsOf } from "../turn/in-process.ts";
import type { ReplyToolCall } from "../servers/script.ts";
import type { ReplyScript } from "../servers/server.ts";
import { child, liar } from "./client/hosted.ts";
import { longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

function calls(...names: string[]): { toolCalls: ReplyToolCall[] } {
  return { toolCalls: names.map((name, index) => ({ id: `call_${index}`, name, arguments: {} })) };
}

/** Calls the tools in the first request of each turn. */
function calling(...names: string[]): ReplyScript {
  return (_request, index) => (index % 2 === 0 ? calls(...names) : { text: `Answer ${index}.` });
}

function texts(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "tool.completed"
      ? [event.outcome.content.map((part) => (part.type === "text" ? part.text : part.mimeType)).join(" ")]
      : [],
  );
}

function degraded(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "context.degraded" ? [`${event.stage}: ${event.reason}`] : [],
  );
}

function config(
  bench: Bench,
  servers: Record<string, McpServerConfig>,
  defaults: Record<string, unknown> = {},
): Record<string, unknown> {
  return modelConfig(
    "openai-completions",
    bench.server.url,
    {},
    {
      agents: { defaults },
      logging: { level: "silent" },
      mcp: { servers },
    },
  );
}

async function benchFor(t: TestContext, script: ReplyScript): Promise<Bench> {
  const bench = await Bench.with(script);
  t.after(() => bench.end());
  return bench;
}

suite("turns with MCP servers", { concurrency: 3 }, () => {
  test("a model uses a server's tool, and its tool list stays byte for byte", async (t) => {
    const bench = await benchFor(t, calling("s__echo"));
    const pagurus = await bench.host({ more: { config: config(bench, { s: child("good") }) } });
    assert.deepEqual(texts(await bench.ask(pagurus, "One?")), ["echo {}"]);
    await bench.ask(pagurus, "Two?");
    await pagurus.close();
    const later = await bench.host({ more: { config: config(bench, { s: child("good") }) } });
    await bench.ask(later, "Three?");
    const offered = bench.server.requests.map(({ body }) => JSON.stringify(body["tools"]));
    assert.match(offered[0] ?? "", /s__echo/);
    assert.equal(new Set(offered).size, 1);
  });

  test("broken servers cost their tools, never the turn, and status reports them", async (t) => {
    const bench = await benchFor(t, calling("s__echo"));
    const servers = { s: child("good"), dead: child("dead"), mute: child("mute", { connectTimeoutMs: 300 }) };
    const pagurus = await bench.host({ more: { config: config(bench, servers) } });
    const events = await bench.ask(pagurus, "One?");
    assert.deepEqual(texts(events), ["echo {}"]);
    const reasons = [
      'tools: The MCP server "dead" ended with code 2; its last output was: no licence found for KEY-12345; its tools are missing.',
      'tools: The MCP server "mute" did not get ready within 0.3 s; its tools are missing.',
    ];
    assert.deepEqual(degraded(events), reasons);
    const status = await pagurus.status();
    assert.deepEqual(status.degraded.map(({ stage, reason }) => `${stage}: ${reason}`).toSorted(), reasons);
  });

  longTest(
    "a hang, a crash and a flood are sentences that the model reads, and the turn continues",
    async (t) => {
      const bench = await benchFor(t, calling("s__hang", "s__crash", "t__big"));
      const servers = { s: child("good", { timeoutMs: 1_000 }), t: child("good") };
      const pagurus = await bench.host({ more: { config: config(bench, servers) } });
      const results = texts(await bench.ask(pagurus, "One?"));
      assert.match(results.join("\n"), /The MCP server "s" (?:did not answer in time|ended with code 3)/);
      assert.match(results.join("\n"), /ended with code 3; its last output was: out of cheese/);
      assert.ok(results.some((text) => text.includes("characters left out")));
      assert.match(JSON.stringify(bench.server.requests[1]?.body), /out of cheese/);
      const next = await bench.ask(pagurus, "Two?");
      assert.equal(next.at(-1)?.type, "turn.completed");
    },
  );

  longTest(
    "tools that change during a session change the catalog at the next turn, not before",
    async (t) => {
      const bench = await benchFor(t, (_request, index) =>
        index === 0 ? calls("s__change") : index === 1 ? calls("s__echo") : { text: `Answer ${index}.` },
      );
      const pagurus = await bench.host({ more: { config: config(bench, { s: child("good") }) } });
      assert.deepEqual(texts(await bench.ask(pagurus, "One?")), ["changed", "echo {}"]);
      const offered = (): string[] => bench.server.requests.map(({ body }) => JSON.stringify(body["tools"]));
      assert.equal(offered()[1], offered()[0]);
      // The list is asked for once the server has reported the change.
      await until(async () => {
        await bench.ask(pagurus, "Two?");
        return offered().at(-1) !== offered()[0];
      });
      assert.match(offered().at(-1) ?? "", /s__fresh/);
      assert.doesNotMatch(offered().at(-1) ?? "", /s__crash/);
    },
  );

  test("a tool asks for permission, names its server, and a hook can block it", async (t) => {
    const bench = await benchFor(t, calling("a__echo", "b__echo", "b__env"));
    const questions: PermissionQuestion[] = [];
    const plugin = (api: PluginApi): void =>
      api.on("before_tool_call", ({ toolName }) =>
        toolName === "b__env" ? { block: true, blockReason: "no looking" } : undefined,
      );
    const servers = { a: child("good"), b: child("good", { permission: "allow" }) };
    const pagurus = await bench.host({
      plugin,
      more: {
        config: config(bench, servers, { permission: { mode: "ask" } }),
        askPermission: async (question) => {
          questions.push(question);
          return "deny";
        },
      },
    });
    const results = texts(await bench.ask(pagurus, "One?"));
    assert.deepEqual(results.map((text) => text.replace(/[.;].*/s, "")).toSorted(), [
      "Blocked: no looking",
      "Permission denied: the user said no",
      "echo {}",
    ]);
    assert.deepEqual(
      questions.map(({ toolName, summary }) => ({ toolName, summary })),
      [{ toolName: "a__echo", summary: 'run a tool of the MCP server "a"' }],
    );
  });

  longTest("neither a server's own declarations nor its permission widen a mode", async (t) => {
    const bench = await benchFor(t, calling("a__echo", "b__echo", "b__env"));
    const servers = { a: child("good"), b: child("good", { permission: "allow" }) };
    const outcomes = async (permission: object): Promise<string[]> => {
      const pagurus = await bench.host({ more: { config: config(bench, servers, { permission }) } });
      const results = texts(await bench.ask(pagurus, "One?"));
      await pagurus.close();
      return results.map((text) => text.replace(/[.:=;].*/s, "")).toSorted();
    };
    const denied = (...names: string[]): string[] => names.map((name) => `Permission denied for ${name}`);
    assert.deepEqual(
      await outcomes({ mode: "read-only", allow: [{ tool: "*" }] }),
      denied("a__echo", "b__echo", "b__env"),
    );
    assert.deepEqual(await outcomes({ mode: "deny" }), [...denied("a__echo"), "echo {}", "undefined"]);
    assert.deepEqual(await outcomes({ mode: "auto", deny: [{ tool: "b__echo" }] }), [
      ...denied("b__echo"),
      "echo {}",
      "undefined",
    ]);
    assert.deepEqual(
      await outcomes({ mode: "auto", deny: [{ tool: "*" }] }),
      denied("a__echo", "b__echo", "b__env"),
    );
  });

  longTest("lists that would fill the model's window cost their tools, never the turn", async (t) => {
    const bench = await benchFor(t, calling("s__small"));
    const wide = Array.from({ length: 150 }, (_each, index) => ({
      name: `wide${index}`,
      inputSchema: {
        type: "object",
        properties: { a: { type: "string", description: "many words ".repeat(1_500) } },
      },
    }));
    const file = join(bench.root, "list.json");
    writeFileSync(file, JSON.stringify([...wide, { name: "small", inputSchema: { type: "object" } }]));
    const pagurus = await bench.host({
      more: {
        config: config(
          bench,
          { s: liar("tools", "", { env: { LIST: file } }) },
          { permission: { mode: "auto" } },
        ),
      },
    });
    const events = await bench.ask(pagurus, "One?");
    assert.deepEqual(texts(events), ["small"]);
    assert.match(
      degraded(events).join(),
      /^tools: Left out, since all tools of MCP servers take more than half of/,
    );
    const preview = await pagurus.context.preview({ prompt: "Hm?" });
    const tokens = preview.receipt.parts.find(({ source }) => source === "tools")?.tokens ?? 0;
    assert.ok(tokens > 0 && tokens < 200_000, String(tokens));
  });

  test("a tool with the name of a plugin's tool is left out, reported, and not allowed by the server's rule", async (t) => {
    const bench = await benchFor(t, calling("s__echo"));
    const plugin = (api: PluginApi): void =>
      api.registerTool({
        name: "s__echo",
        description: "",
        parameters: { type: "object", properties: {} },
        execute: async () => ({ content: [{ type: "text", text: "plugin" }], isError: false }),
      });
    const servers = { s: child("good", { permission: "allow" }) };
    const pagurus = await bench.host({
      plugin,
      more: { config: config(bench, servers, { permission: { mode: "deny" } }) },
    });
    const events = await bench.ask(pagurus, "One?");
    assert.match(texts(events).join(), /^Permission denied for s__echo/);
    assert.deepEqual(degraded(events), [
      "tools: Left out, since a plugin has tools of the same name: s__echo.",
    ]);
  });

  longTest(
    "reloading the configuration waits for a running call, and ends the servers of before",
    async (t) => {
      const bench = await benchFor(t, calling("s__slow"));
      const pids = join(bench.root, "pids");
      const servers = { s: child("good", { env: { PIDS: pids } }) };
      const permission = { mode: "auto" };
      const pagurus = await bench.host({ more: { config: config(bench, servers, { permission }) } });
      const started = (): number[] => readFileSync(pids, "utf8").trim().split("\n").map(Number);
      const asked = bench.ask(pagurus, "One?");
      await until(() => existsSync(pids));
      await pagurus.reload();
      assert.deepEqual(texts(await asked), ["slow but sure"]);
      const [first = 0] = started();
      assert.equal(processIsAlive(first), false);
      assert.deepEqual(texts(await bench.ask(pagurus, "Two?")), ["slow but sure"]);
      assert.equal(started().length, 2);
    },
  );

  longTest(
    "a turn that is stopped while a server starts ends at once, and close ends the server",
    async (t) => {
      const bench = await benchFor(t, calling("s__echo"));
      const pids = join(bench.root, "pids");
      const servers = { s: child("mute", { env: { PIDS: pids } }) };
      const pagurus = await bench.host({ more: { config: config(bench, servers) } });
      const run = pagurus.run({ prompt: "One?", cwd: bench.root });
      const events = eventsOf(run);
      await until(() => existsSync(pids));
      const stopped = performance.now();
      run.abort();
      assert.deepEqual(degraded(await events), []);
      assert.ok(performance.now() - stopped < 5_000, "a server is waited for 10 s");
      assert.equal(bench.server.requests.length, 0);
      await pagurus.close();
      const started = readFileSync(pids, "utf8").trim().split("\n").map(Number);
      assert.ok(started.length > 0 && !started.some(processIsAlive));
    },
  );

  longTest("a view of the context includes the cached tools", async (t) => {
    const bench = await benchFor(t, calling("s__echo"));
    const options = { more: { config: config(bench, { s: child("good") }) } };
    const pagurus = await bench.host(options);
    const before = (await pagurus.context.preview({ prompt: "Hm?" })).receipt;
    await bench.ask(pagurus, "One?");
    const after = (await pagurus.context.preview({ prompt: "Hm?" })).receipt;
    const tokens = ({ parts }: typeof before): number =>
      parts.find(({ source }) => source === "tools")?.tokens ?? 0;
    assert.ok(tokens(after) > tokens(before));
  });
});
