/** Middleware around the host's own tools. Source: agent runtimes, "Compatibility contract". */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { ToolOutcome } from "../../packages/contract/src/harness/tool.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import type { SurroundedCall, ToolMiddleware } from "../../packages/contract/src/host/tool-middleware.ts";
import { surrounded } from "../../packages/host/src/turn/prepare/tool-middleware.ts";
import { Bench } from "./in-process.ts";
import { calls, ofType, requestText } from "./members/members-bench.ts";
import { TestClock } from "../runner/test-clock.ts";

let bench: Bench | undefined;

function textOf({ content }: ToolOutcome): string {
  return content.map((part) => (part.type === "text" ? part.text : part.type)).join("");
}

function text(words: string, isError = false): ToolOutcome {
  return { content: [{ type: "text", text: words }], isError };
}

/** One turn in which the model reads a file; what its second request has. */
async function readTurn(
  plugin: (api: PluginApi) => void,
  call = calls("read", { path: "note.txt" }),
): Promise<{ shown: string; degraded: string[] }> {
  bench = await Bench.with([call, { text: "Done." }]);
  writeFileSync(join(bench.root, "note.txt"), "the quay is wet");
  const events = await bench.ask(
    await bench.host({ plugin, defaults: { permission: { mode: "auto" } } }),
    "Read it",
  );
  const degraded = ofType(events, "context.degraded").map(({ stage, reason }) => `${stage}: ${reason}`);
  return { shown: requestText(bench.body(1)), degraded };
}

describe("middleware of plugins", () => {
  afterEach(async () => {
    await bench?.end();
    bench = undefined;
  });
  it("runs around a host tool in the order of registration, after the hook before it and before the hook after it", async () => {
    const order: string[] = [];
    const noting =
      (name: string): ToolMiddleware =>
      async (_call, next) => {
        order.push(`${name} begins`);
        const outcome = await next();
        order.push(`${name} ends`);
        return text(`${textOf(outcome)} (${name})`);
      };
    const { shown, degraded } = await readTurn((api) => {
      api.registerToolMiddleware(noting("outer"));
      api.registerToolMiddleware(noting("inner"), { tools: ["re*"] });
      api.registerToolMiddleware(noting("other"), { tools: ["shell", "write"] });
      api.on("before_tool_call", () => void order.push("before_tool_call"));
      api.on(
        "after_tool_call",
        ({ outcome }) => void order.push(`after ${textOf(outcome).endsWith("(outer)")}`),
      );
      api.on("tool_result_persist", () => void order.push("persist"));
    });
    assert.deepEqual(order, [
      "before_tool_call",
      "outer begins",
      "inner begins",
      "inner ends",
      "outer ends",
      "after true",
      "persist",
    ]);
    assert.match(shown, /the quay is wet.* \(inner\) \(outer\)/s);
    assert.deepEqual(degraded, []);
  });

  it("replaces the tool when it answers without next, which leaves the tool unrun", async () => {
    const { shown } = await readTurn(
      (api) => api.registerToolMiddleware(() => text("from the cache")),
      calls("write", { path: "made.txt", content: "x" }),
    );
    assert.match(shown, /from the cache/);
    assert.ok(bench && !existsSync(join(bench.root, "made.txt")));
  });

  it("keeps the outcome of the tool when it only watches", async () => {
    const seen: string[] = [];
    const { shown, degraded } = await readTurn((api) =>
      api.registerToolMiddleware(async ({ toolName, params, runtime, cwd, sessionKey }, next) => {
        const outcome = await next();
        seen.push(`${toolName} ${JSON.stringify(params)} ${runtime} ${cwd === bench?.root} ${sessionKey}`);
        seen.push(String(outcome.isError));
      }),
    );
    assert.match(shown, /the quay is wet/);
    assert.deepEqual(seen, ['read {"path":"note.txt"} embedded true main', "false"]);
    assert.deepEqual(degraded, []);
  });

  it("is not called for a call that the permission refuses", async () => {
    let count = 0;
    bench = await Bench.with([calls("write", { path: "made.txt", content: "x" }), { text: "Done." }]);
    const plugin = (api: PluginApi): void =>
      api.registerToolMiddleware((_call, next) => {
        count += 1;
        return next();
      });
    await bench.ask(await bench.host({ plugin, defaults: { permission: { mode: "deny" } } }), "Write it");
    assert.equal(count, 0);
    assert.ok(!existsSync(join(bench.root, "made.txt")));
  });

  it("that fails before next keeps the tool from running and is reported", async () => {
    const { shown, degraded } = await readTurn(
      (api) =>
        api.registerToolMiddleware(() => {
          throw new Error("no policy was loaded");
        }),
      calls("write", { path: "made.txt", content: "x" }),
    );
    assert.match(shown, /Blocked: the middleware of plugin hooks failed before write ran/);
    assert.ok(bench && !existsSync(join(bench.root, "made.txt")));
    assert.deepEqual(degraded, ["hook: middleware of plugin hooks around write: no policy was loaded"]);
  });

  it("that fails after next loses nothing of the outcome and is reported", async () => {
    const { shown, degraded } = await readTurn(
      (api) =>
        api.registerToolMiddleware(async (_call, next) => {
          await next();
          throw new Error("the counter is full");
        }),
      calls("write", { path: "made.txt", content: "x" }),
    );
    assert.doesNotMatch(shown, /Blocked/);
    assert.ok(bench);
    assert.equal(readFileSync(join(bench.root, "made.txt"), "utf8"), "x");
    assert.deepEqual(degraded, ["hook: middleware of plugin hooks around write: the counter is full"]);
  });

  it("of a plugin that then fails to register makes the plugin a gate, without which no turn runs", async () => {
    bench = await Bench.with([{ text: "Done." }]);
    const pagurus = await bench.host({
      plugin: (api) => {
        api.registerToolMiddleware((_call, next) => next());
        throw new Error("half loaded");
      },
    });
    const events = [];
    for await (const event of pagurus.run({ prompt: "One", cwd: bench.root })) events.push(event);
    const last = events.at(-1);
    assert.ok(last?.type === "turn.failed");
    assert.equal(last.error.code, "plugin_failed");
  });
});

const CALL: SurroundedCall = {
  toolCallId: "c1",
  toolName: "read",
  params: { path: "a" },
  sessionKey: "main",
  sessionId: "s1",
  agentId: "main",
  turnId: "t1",
  runtime: "embedded",
  cwd: "/work",
  signal: new AbortController().signal,
};

/** Runs one middleware around a tool that answers "whole"; its outcome, the tool's runs, and the reports. */
async function runOne(
  middleware: ToolMiddleware,
  {
    run = () => Promise.resolve(text("whole")),
    deadlineMs = 60_000,
    signal = CALL.signal,
    clock = new TestClock(),
  } = {},
): Promise<{ outcome: ToolOutcome; runs: number; reasons: string[] }> {
  let runs = 0;
  const reasons: string[] = [];
  const tool = (): Promise<ToolOutcome> => {
    runs += 1;
    return run();
  };
  const outcome = await surrounded([{ pluginId: "p", middleware }], { ...CALL, signal }, tool, {
    deadlineMs,
    clock,
    onFailure: (reason) => reasons.push(reason),
  });
  return { outcome, runs, reasons };
}

describe("one middleware", () => {
  afterEach(async () => {
    await bench?.end();
    bench = undefined;
  });
  it("runs the tool once, however often it calls next", async () => {
    const { runs, outcome } = await runOne(async (_call, next) => {
      const [first, second] = await Promise.all([next(), next()]);
      assert.equal(first, second);
      return next();
    });
    assert.equal(runs, 1);
    assert.equal(textOf(outcome), "whole");
  });

  it("gets a copy of the arguments, so that it cannot change what was permitted", async () => {
    const params = { path: "a" };
    await surrounded(
      [{ pluginId: "p", middleware: (call, next) => (Object.assign(call.params, { path: "b" }), next()) }],
      { ...CALL, params },
      () => Promise.resolve(text("whole")),
      { onFailure: assert.fail },
    );
    assert.deepEqual(params, { path: "a" });
  });

  it("ends only when the tool that it started has ended, whatever it answers before", async () => {
    const { promise, resolve } = Promise.withResolvers<ToolOutcome>();
    let hasEnded = false;
    const ended = runOne((_call, next) => (void next(), text("early")), { run: () => promise }).then(
      (all) => {
        hasEnded = true;
        return all;
      },
    );
    await new Promise((done) => setImmediate(done));
    assert.equal(hasEnded, false);
    resolve(text("late"));
    assert.equal(textOf((await ended).outcome), "early");
  });

  it("fails closed when it answers neither an outcome nor next's", async () => {
    for (const answer of [
      undefined,
      {},
      { content: "x", isError: false },
      { content: [{ type: "text" }], isError: false },
    ]) {
      const { outcome, runs, reasons } = await runOne(() => answer as ToolOutcome);
      assert.match(textOf(outcome), /^Blocked: /);
      assert.equal(runs, 0);
      assert.equal(reasons.length, 1);
    }
  });

  it("keeps the tool's outcome when it answers something else after next", async () => {
    const { outcome, reasons } = await runOne(
      async (_call, next) => (await next(), { content: 1 } as unknown as ToolOutcome),
    );
    assert.equal(textOf(outcome), "whole");
    assert.match(reasons.join(), /answered no outcome of a tool/);
  });

  it("that takes too long fails closed, and cannot run the tool later", async () => {
    const clock = new TestClock();
    let later: (() => Promise<ToolOutcome>) | undefined;
    const { outcome, runs, reasons } = await runOne(
      (_call, next) => {
        later = next;
        clock.move(60_000);
        return new Promise<never>(() => undefined);
      },
      { deadlineMs: 60_000, clock },
    );
    assert.match(textOf(outcome), /^Blocked: /);
    assert.match(reasons.join(), /took longer than/);
    assert.ok(later);
    assert.match(textOf(await later()), /has ended before/);
    assert.equal(runs, 0);
  });

  it("is not charged for the time of the tool", async () => {
    const clock = new TestClock();
    const after: string[] = [];
    const run = async (): Promise<ToolOutcome> => {
      clock.move(600_000);
      return text("slow");
    };
    const { outcome, reasons } = await runOne(
      async (_call, next) => {
        const inner = await next();
        after.push(textOf(inner));
        return inner;
      },
      { deadlineMs: 60_000, run, clock },
    );
    assert.equal(textOf(outcome), "slow");
    assert.deepEqual([after, reasons], [["slow"], []]);
  });

  it("ends with the turn and is not reported for that", async () => {
    const controller = new AbortController();
    const ended = runOne(() => new Promise<never>(() => undefined), { signal: controller.signal });
    controller.abort();
    const { outcome, runs, reasons } = await ended;
    assert.match(textOf(outcome), /^Aborted/);
    assert.deepEqual([runs, reasons], [0, []]);
  });
});
