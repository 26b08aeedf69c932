import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { compactThread } from "../../../packages/runtimes/src/codex/codex-compact.ts";
import { providerOf, WireBench } from "./wire-bench.ts";

const HISTORY: AgentMessage[] = [
  { role: "user", content: [{ type: "text", text: "Where is the whelk?" }] },
  { role: "assistant", content: [{ type: "text", text: "Near the pier." }] },
];

describe("a session of Codex on the wire", () => {
  let bench: WireBench;
  beforeEach(() => {
    bench = new WireBench();
  });
  afterEach(() => bench.remove());

  it("has a thread that gets the gateway's address, and nothing of the context", async () => {
    const { degraded, receipts } = await bench.run({ history: HISTORY, epoch: "e1" });
    const [start] = bench.codex.of("thread/start");
    const [route] = bench.routes;
    assert.deepEqual(providerOf(start), {
      name: "pagurus",
      base_url: route?.baseUrl,
      wire_api: "responses",
      http_headers: route?.headers,
      request_max_retries: 0,
      stream_max_retries: 2,
    });
    assert.equal(start?.["developerInstructions"], "Be brief.");
    assert.equal((start["config"] as Record<string, unknown>)["model_catalog_json"], "/catalog.json");
    assert.deepEqual(route?.request, { api: "openai-responses", sessionKey: "main", runtime: "codex" });
    assert.deepEqual(bench.codex.of("thread/inject_items"), []);
    const [turn] = bench.codex.of("turn/start");
    assert.equal(turn?.["additionalContext"], null);
    assert.deepEqual(turn["input"], [{ type: "text", text: "Go.", text_elements: [] }]);
    assert.deepEqual(degraded, []);
    assert.deepEqual(receipts, [], "the gateway reports requests");
  });

  it("continues that thread through epochs, other runtimes' turns and turns that did not end well", async () => {
    await bench.run({ turnId: "one", epoch: "e1" });
    await bench.run({ turnId: "two", epoch: "e2", history: HISTORY });
    bench.codex.during = () =>
      Promise.resolve({ status: "failed", error: { message: "no", codexErrorInfo: "other" } });
    await assert.rejects(bench.run({ turnId: "three", epoch: "e2" }), { code: "runtime_failed" });
    bench.codex.during = () => Promise.resolve({ status: "completed" });
    await bench.run({ turnId: "four", epoch: "e3", history: [] });
    assert.equal(bench.codex.of("thread/start").length, 1);
    assert.deepEqual(bench.codex.of("thread/resume"), []);
    assert.deepEqual(
      bench.codex.of("turn/start").map(({ threadId }) => threadId),
      ["thread-1", "thread-1", "thread-1", "thread-1"],
    );
    const served = ["one", "two", "three", "four"].flatMap((turn) => [turn, undefined]);
    assert.deepEqual(bench.routes[0]?.served, served);
    assert.equal(bench.binding?.nativeId, "thread-1");
  });

  it("continues it in a new process, which sends it the gateway's new address", async () => {
    await bench.run();
    bench.restart();
    await bench.run({ turnId: "later" });
    assert.deepEqual(bench.codex.of("thread/start"), []);
    const [resumed] = bench.codex.of("thread/resume");
    assert.equal(resumed?.["threadId"], "thread-1");
    const [, second] = bench.routes;
    assert.equal(providerOf(resumed)?.["base_url"], second?.baseUrl);
    assert.deepEqual(providerOf(resumed)?.["http_headers"], second?.headers);
    await bench.run({ turnId: "last" });
    assert.equal(bench.codex.of("thread/resume").length, 1);
    assert.deepEqual(second?.served, ["later", undefined, "last", undefined]);
    assert.equal(bench.routes.length, 2);
  });

  it("continues it after Codex has ended in a turn", async () => {
    bench.codex.during = () => {
      bench.codex.end();
      return new Promise(() => undefined);
    };
    await assert.rejects(bench.run({ turnId: "cut" }), { code: "runtime_failed" });
    const { routes } = bench.around;
    const { PlayedCodex } = await import("./wire-bench.ts");
    bench.codex = new PlayedCodex(bench.folder);
    await bench.run({ turnId: "after" });
    assert.deepEqual(
      bench.codex.of("thread/resume").map(({ threadId }) => threadId),
      ["thread-1"],
    );
    assert.equal(bench.routes.length, 1, "a thread keeps its way while the process lives");
    assert.ok(routes.has("thread-1"));
  });

  for (const [what, options] of [
    ["other instructions", { system: "Be long." }],
    ["other tools", { tools: "others" }],
    [
      "another model",
      { more: { model: { provider: "p", id: "n", ref: "p/n", api: "openai-responses" } as never } },
    ],
  ] as const)
    it(`begins a new thread for ${what}, on the same route, and drops the old one`, async () => {
      await bench.run();
      await bench.run({ turnId: "two", ...options });
      assert.equal(bench.codex.of("thread/start").length, 2);
      assert.deepEqual(
        bench.codex.of("thread/archive").map(({ threadId }) => threadId),
        ["thread-1"],
      );
      assert.equal(bench.binding?.nativeId, "thread-2");
      assert.deepEqual(
        bench.routes.map(({ isClosed, served }) => [isClosed, served]),
        [[false, ["turn", undefined, "two", undefined]]],
      );
      assert.deepEqual(bench.codex.of("thread/inject_items"), []);
    });

  it("sends a new thread the turn's earlier messages, and the input that is not answered yet", async () => {
    const { turn } = bench.turn();
    const hurry: AgentMessage = { role: "user", content: [{ type: "text", text: "Hurry." }] };
    const done: AgentMessage = { role: "assistant", content: [{ type: "text", text: "I look." }] };
    const messages = [...HISTORY, turn.input, done, hurry];
    const assemble: typeof turn.context.assemble = async () => ({
      ...(await turn.context.assemble()),
      messages,
      historyCount: HISTORY.length,
    });
    await bench.run({ context: { assemble } });
    const [injected] = bench.codex.of("thread/inject_items");
    assert.match(JSON.stringify(injected?.["items"]), /Go\..*I look\./);
    assert.doesNotMatch(JSON.stringify(injected), /whelk/);
    const [asked] = bench.codex.of("turn/start");
    assert.deepEqual(asked?.["input"], [{ type: "text", text: "Hurry.", text_elements: [] }]);
  });

  it("begins a new thread when Codex has lost the old one, with a notice", async () => {
    await bench.run();
    bench.restart();
    bench.codex.refuses = { "thread/resume": "no rollout found" };
    const { events } = await bench.run({ turnId: "two" });
    assert.equal(bench.codex.of("thread/start").length, 1);
    assert.match(JSON.stringify(events), /thread of this session is gone/);
    assert.equal(bench.routes.length, 2);
  });

  it("keeps its thread when the engine could not be called for its instructions", async () => {
    await bench.run({ system: "Be brief. And recall." });
    const { degraded } = await bench.run({ turnId: "two", degraded: "it broke" });
    assert.equal(bench.codex.of("thread/start").length, 1);
    assert.deepEqual(degraded, []);
    await bench.run({ turnId: "three", system: "Be brief. And recall." });
    assert.equal(bench.codex.of("thread/start").length, 1);
  });

  it("closes the route of a dropped thread, and all routes at the end", async () => {
    await bench.run();
    bench.around.threads.leave(bench.server, "thread-1");
    assert.equal(bench.routes[0]?.isClosed, true);
    bench.binding = undefined;
    await bench.run({ turnId: "two" });
    await bench.around.routes.dispose();
    assert.deepEqual(
      bench.routes.map(({ isClosed }) => isClosed),
      [true, true],
    );
  });

  it("leaves no route open when no thread could be started", async () => {
    bench.codex.refuses = { "thread/start": "out of order" };
    await assert.rejects(bench.run(), { code: "runtime_failed" });
    assert.ok(bench.routes.length > 0);
    assert.deepEqual(
      bench.routes.map(({ isClosed }) => isClosed),
      bench.routes.map(() => true),
    );
  });

  it("falls back to the thread when the gateway cannot be opened, with a degradation", async () => {
    bench.closed = "No port is free.";
    const { degraded, receipts } = await bench.run({ history: HISTORY });
    assert.equal(degraded.length, 1);
    assert.match(degraded[0] ?? "", /into the thread.*could not be opened.*No port is free/);
    const [start] = bench.codex.of("thread/start");
    assert.equal(providerOf(start)?.["base_url"], "http://model.test/v1");
    assert.equal(bench.codex.of("thread/inject_items").length, 1);
    assert.deepEqual(receipts[0], { seam: "thread" });
  });

  it("falls back to the thread with Codex's own login, and when the host has no gateway", async () => {
    bench.endpoint = () => undefined;
    const own = await bench.run({ history: HISTORY });
    assert.match(own.degraded[0] ?? "", /own login.*key for p\/m/);
    bench.restart();
    const { WireRoutes } = await import("../../../packages/runtimes/src/codex/wire/codex-wire.ts");
    bench.restart({ routes: new WireRoutes(undefined) });
    const none = await bench.run({ turnId: "two", history: HISTORY });
    assert.match(none.degraded[0] ?? "", /no model gateway/);
    assert.deepEqual(bench.routes, []);
  });

  it("is managed by Codex when no engine governs", async () => {
    const { degraded } = await bench.run({ governs: false });
    assert.deepEqual([degraded, bench.routes], [[], []]);
    assert.equal(providerOf(bench.codex.of("thread/start")[0])?.["base_url"], "http://model.test/v1");
  });

  it("calls a model of another protocol through the gateway, whoever manages the context", async () => {
    const more = { model: { provider: "p", id: "m", ref: "p/m", api: "openai-completions" } as never };
    const { receipts } = await bench.run({ governs: false, history: HISTORY, more });
    const [start] = bench.codex.of("thread/start");
    assert.equal(providerOf(start)?.["base_url"], bench.routes[0]?.baseUrl);
    assert.equal(bench.codex.of("thread/inject_items").length, 1, "the thread has the context");
    assert.notEqual(bench.codex.of("turn/start")[0]?.["additionalContext"], null);
    assert.deepEqual(receipts, []);
    assert.deepEqual(bench.routes[0]?.served, ["turn", undefined]);
    bench.restart();
    bench.closed = "No port is free.";
    await assert.rejects(bench.run({ turnId: "two", governs: false, more }), {
      code: "runtime_unsupported",
      message: /p\/m another protocol, and the model gateway could not be opened: No port is free; choose/,
    });
  });

  it("reports answers and their usage, and no request", async () => {
    bench.codex.during = async (threadId, turnId) => {
      const usage = { inputTokens: 7, outputTokens: 2 };
      const item = {
        type: "message",
        id: "m",
        role: "assistant",
        content: [{ type: "output_text", text: "Hi." }],
      };
      bench.codex.notify(threadId, "rawResponseItem/completed", { turnId, item });
      bench.codex.notify(threadId, "rawResponse/completed", { turnId, usage });
      bench.codex.notify(threadId, "rawResponse/completed", { turnId, usage });
      return { status: "completed" };
    };
    const { events, receipts } = await bench.run();
    assert.deepEqual(
      events.map(({ type }) => type),
      ["message", "usage", "usage"],
    );
    assert.deepEqual(receipts, []);
  });

  it("reports why the gateway got no context, with the host's message", async () => {
    const refusal = new PagurusError("live_turn_too_large", "The current turn alone is too large.");
    let asked = 0;
    const { turn } = bench.turn();
    const assemble: typeof turn.context.assemble = () => {
      asked += 1;
      return asked === 1 ? turn.context.assemble() : Promise.reject(refusal);
    };
    bench.codex.during = async () => {
      await bench.routes[0]?.turn?.assemble().catch(() => undefined);
      return { status: "failed", error: { message: "HTTP 400", codexErrorInfo: "badRequest" } };
    };
    await assert.rejects(bench.run({ context: { assemble } }), refusal);
    assert.equal(asked, 2);
  });

  it("is not retried when the provider rejected it as too long", async () => {
    let asked = 0;
    const { turn } = bench.turn();
    const assemble: typeof turn.context.assemble = () => ((asked += 1), turn.context.assemble());
    bench.codex.during = async () => ({
      status: "failed",
      error: { message: "too long", codexErrorInfo: "contextWindowExceeded" },
    });
    await assert.rejects(bench.run({ context: { assemble } }), { code: "context_overflow" });
    assert.equal(asked, 1);
    assert.equal(bench.codex.of("turn/start").length, 1);
  });

  describe("that Codex compacts", () => {
    const compact = async (threadId: string, turnId: string, ask: boolean): Promise<void> => {
      const item = { type: "contextCompaction", id: "c" };
      bench.codex.notify(threadId, "item/started", { turnId, item });
      if (ask) await bench.routes[0]?.turn?.answerCompaction({ trigger: "threshold" });
      bench.codex.notify(threadId, "item/completed", { turnId, item });
    };

    it("reports nothing when the engine has answered, which the host has reported; and the thread continues", async () => {
      bench.codex.during = async (thread, turn) => {
        await compact(thread, turn, true);
        return { status: "completed" };
      };
      const lost: number[] = [];
      const context = {
        answerCompaction: () => Promise.resolve({ summary: "So far." }),
        fragmentsLost: () => (lost.push(1), []),
      };
      const { events } = await bench.run({ context });
      assert.deepEqual([events, lost], [[], []]);
      bench.codex.during = () => Promise.resolve({ status: "completed" });
      await bench.run({ turnId: "two" });
      assert.equal(bench.codex.of("thread/start").length, 1);
    });

    it("reports each compaction that was Codex's, also after one that was the engine's", async () => {
      const answers = [undefined, { summary: "So far." }];
      const lost: number[] = [];
      bench.codex.during = async (thread, turn) => {
        await compact(thread, turn, true);
        await compact(thread, turn, true);
        await compact(thread, turn, false);
        return { status: "completed" };
      };
      const { events } = await bench.run({
        context: {
          answerCompaction: () => Promise.resolve(answers.shift()),
          fragmentsLost: () => (lost.push(1), []),
        },
      });
      assert.deepEqual(
        events.map((event) => [event.type, "handledBy" in event && event.handledBy]),
        [
          ["compaction.started", false],
          ["compaction.completed", "codex-app-server"],
          ["compaction.started", false],
          ["compaction.completed", "codex-app-server"],
        ],
      );
      assert.deepEqual(lost, [], "the gateway shows fragments in each request");
    });

    it("keeps its own compaction enabled when that is configured, unless the context goes into the thread", async () => {
      bench.restart({ compaction: "own" });
      await bench.run();
      const configOf = (): unknown => bench.codex.of("thread/start")[0]?.["config"];
      assert.equal("model_catalog_json" in (configOf() as object), false);
      for (const [seam, closed] of [
        ["thread", undefined],
        ["wire", "No port is free."],
      ] as const) {
        bench.restart({ compaction: "own", seam });
        bench.closed = closed;
        bench.binding = undefined;
        await bench.run();
        assert.equal("model_catalog_json" in (configOf() as object), true, seam);
      }
    });

    it("on /compact reports that it is not needed", async () => {
      await bench.run();
      assert.ok(bench.binding);
      const { model, cwd, signal } = bench.turn().turn;
      const done = await compactThread(bench.binding, { model, cwd, signal, governs: true }, bench.around);
      assert.deepEqual(
        [done.compacted, done.reason],
        [false, "the model is sent the engine's context, whatever the thread holds"],
      );
    });
  });
});
