/** The engine's own answer to a compaction inside a turn: when it is called, its parameters, and the effects of its answer. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import type { CompactionInterceptResult } from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { SessionBeforeCompact } from "../../../packages/contract/src/host/hook-parts.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { words } from "../in-process.ts";
import {
  callsBig,
  filler,
  handled,
  ID,
  INTERCEPTED_SUMMARY,
  LaneSetting,
  ofType,
  ownSummary,
  recordingEngine,
  RESERVES,
  summaryIn,
  type Calls,
  type EngineSpec,
  type SettingOptions,
} from "./setting.ts";

const FIRST = filler(6_000, "amber");
const SECOND = filler(6_000, "birch");
const INTERCEPTS = { interceptsCompaction: true };

describe("interceptCompaction", () => {
  let setting: LaneSetting;
  afterEach(() => setting.end());

  /** Two turns, then one whose tool result makes the context exceed the budget. */
  async function turn(
    spec: EngineSpec,
    options: SettingOptions & { step?: ReplyStep; run?: { signal?: AbortSignal } } = {},
  ): Promise<{ events: TurnEvent[]; calls: Calls }> {
    const { step = callsBig(14_500), run, ...more } = options;
    const { engine, calls } = recordingEngine(spec);
    setting = await LaneSetting.open({
      engine,
      defaults: { toolResultMaxChars: 200_000 },
      turns: [{ text: "ok" }, { text: "ok" }, step],
      log: "debug",
      ...more,
    });
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    const events = await setting.run("look it up", run);
    return { events, calls };
  }

  it("receives the whole request", async () => {
    const preparations: SessionBeforeCompact["preparation"][] = [];
    const { events, calls } = await turn(
      { info: INTERCEPTS },
      {
        compaction: { ...RESERVES, customInstructions: "Mind the colours." },
        plugin: (api) =>
          api.on("session_before_compact", ({ preparation }) => void preparations.push(preparation)),
      },
    );
    const [request] = calls.intercept;
    const [preparation] = preparations;
    assert.ok(request && preparation);
    const { signal, messages, sessionFile, ...rest } = request;
    const [started] = ofType(events, "turn.started");
    assert.deepEqual(rest, {
      sessionId: started?.sessionId,
      sessionKey: "main",
      contextWindow: 30_000,
      firstKeptEntryId: preparation.firstKeptEntryId,
      tokensBefore: preparation.tokensBefore,
      customInstructions: "Mind the colours.",
      trigger: "threshold",
      backend: "embedded",
    });
    assert.deepEqual(
      messages.map((message) => words(message).slice(0, 5)),
      ["amber", "ok", "birch", "ok"],
    );
    assert.deepEqual(messages, preparation.messagesToSummarize);
    assert.ok(signal instanceof AbortSignal);
    // A copy of the current transcript, never the host's own file.
    assert.notEqual(sessionFile, (await setting.status()).session?.file);
    assert.ok(existsSync(sessionFile));
    assert.match(readFileSync(sessionFile, "utf8"), /cobalt cobalt/);
  });

  it("receives the count of tokens that the endpoint reported, and none without a report", async () => {
    const usage = { input: 13_000, output: 50 };
    const { calls } = await turn({ info: INTERCEPTS }, { step: { ...callsBig(14_500), usage } });
    assert.equal(calls.intercept[0]?.currentTokenCount, 13_050);
    await setting.end();
    const without = await turn({ info: INTERCEPTS });
    assert.ok(without.calls.intercept[0]);
    assert.equal(without.calls.intercept[0].currentTokenCount, undefined);
  });

  it("a compaction makes the count unknown until the next call has reported one", async () => {
    const usage = { input: 13_000, output: 50 };
    const { calls } = await turn({ info: INTERCEPTS }, { step: { ...callsBig(14_500), usage } });
    const known = calls.afterTurn.at(-1)?.runtimeContext;
    assert.ok(known && !("currentTokenCount" in known) && !("usage" in known));
    setting.turns.push({ text: "ok", usage: { input: 14_000, output: 60 } });
    await setting.ask("go on");
    assert.equal(calls.afterTurn.at(-1)?.runtimeContext?.currentTokenCount, 14_060);
  });

  it("receives the trigger overflow when the context exceeds the whole window", async () => {
    const { events, calls } = await turn({ info: INTERCEPTS }, { step: callsBig(20_000) });
    assert.deepEqual(
      calls.intercept.map(({ trigger }) => trigger),
      ["overflow"],
    );
    assert.equal(ofType(events, "compaction.completed")[0]?.trigger, "overflow");
    assert.equal((await setting.status()).recentCompactions[0]?.trigger, "overflow");
  });

  it("gets no instructions when none are configured", async () => {
    const { calls } = await turn({ info: INTERCEPTS });
    assert.ok(calls.intercept[0] && !("customInstructions" in calls.intercept[0]));
  });

  const notTrue: [string, unknown][] = [
    ["absent", undefined],
    ["false", false],
    ["truthy and not true", "yes"],
  ];
  for (const [title, flag] of notTrue) {
    it(`is not called when the engine has the method and its flag is ${title}`, async () => {
      const info = flag === undefined ? {} : { interceptsCompaction: flag as boolean };
      const { events, calls } = await turn({ info });
      assert.equal(calls.intercept.length, 0);
      assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
      assert.equal((await setting.status()).engine.interceptsCompaction, false);
    });
  }

  it("both flags at once: the engine is called in each lane, by the lane's own member", async () => {
    const { calls, events } = await turn({
      info: { ...INTERCEPTS, ownsCompaction: true },
      compact: ownSummary,
    });
    assert.deepEqual([calls.intercept.length, calls.compact.length], [1, 0]);
    assert.equal(ofType(events, "compaction.completed")[0]?.ownsCompaction, true);
    await setting.ask(filler(2_000, "cedar"));
    await setting.compact();
    assert.deepEqual([calls.intercept.length, calls.compact.length], [1, 1]);
    const { recentCompactions, engine } = await setting.status();
    assert.deepEqual(
      recentCompactions.map(({ lane, handledBy }) => [lane, handledBy]),
      [
        ["queued", ID],
        ["in-attempt", ID],
      ],
    );
    assert.deepEqual([engine.ownsCompaction, engine.interceptsCompaction], [true, true]);
  });

  it("its answer is recorded with its details, and sent to the model in the same turn", async () => {
    const { events, calls } = await turn({
      info: INTERCEPTS,
      intercept: async (request) => ({ ...(await handled(request)), details: { nodes: 3 } }),
    });
    assert.deepEqual(ofType(events, "context.degraded"), []);
    const body = setting.turnBodies().at(-1);
    assert.equal(summaryIn(body), INTERCEPTED_SUMMARY);
    assert.equal(body?.messages.at(-1)?.results.length, 1);
    const compaction = (await setting.entries()).find((entry) => entry.type === "compaction");
    assert.ok(compaction?.type === "compaction");
    const { summary, origin, lane, handledBy, trigger, firstKeptEntryId, details } = compaction;
    assert.deepEqual(
      { summary, origin, lane, handledBy, trigger, firstKeptEntryId, details },
      {
        summary: INTERCEPTED_SUMMARY,
        origin: "engine",
        lane: "in-attempt",
        handledBy: ID,
        trigger: "threshold",
        firstKeptEntryId: calls.intercept[0]?.firstKeptEntryId,
        details: { nodes: 3 },
      },
    );
  });

  it("its changes to the messages it received reach no transcript", async () => {
    await turn({
      info: INTERCEPTS,
      intercept: async ({ messages }) => {
        for (const message of messages) message.content = [{ type: "text", text: "changed" }];
        return { handled: false, reason: "only changing" };
      },
    });
    assert.match(setting.summaryBodies()[0]?.messages[0]?.text ?? "", /amber amber/);
    const texts = (await setting.entries()).map((entry) =>
      entry.type === "message" ? words(entry.message) : "",
    );
    assert.ok(texts.includes(FIRST) && !texts.includes("changed"));
  });

  it("handled: false falls back to the default with a debug line and no degradation", async () => {
    const { events } = await turn({
      info: INTERCEPTS,
      intercept: async () => ({ handled: false, reason: "too small for me" }),
    });
    assert.deepEqual(ofType(events, "context.degraded"), []);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
    const [line] = setting.logged("compaction interception");
    assert.equal(line?.["handled"], false);
    assert.equal(line?.["reason"], "too small for me");
  });

  it("a flag without the method falls back to the default with a debug line and no degradation", async () => {
    const { events } = await turn({ info: INTERCEPTS, intercept: null });
    assert.deepEqual(ofType(events, "context.degraded"), []);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
    assert.equal(
      setting.logged("compaction interception")[0]?.["reason"],
      "the engine has no interceptCompaction()",
    );
  });

  const nonsense = (value: unknown): (() => Promise<CompactionInterceptResult>) => {
    return () => Promise.resolve(value as CompactionInterceptResult);
  };
  const bad: [string, EngineSpec["intercept"] & {}, RegExp][] = [
    ["throws", () => Promise.reject(new Error("the interceptor broke")), /the interceptor broke/],
    ["answers nothing", nonsense(undefined), /returned no object/],
    ["gives no summary", nonsense({ handled: true, firstKeptEntryId: "x", tokensBefore: 1 }), /no summary/],
    ["names no entry", nonsense({ handled: true, summary: "s", tokensBefore: 1 }), /no first kept entry/],
    [
      "counts no tokens",
      async (request) =>
        ({ ...(await handled(request)), tokensBefore: Number.NaN }) as CompactionInterceptResult,
      /no count of tokensBefore/,
    ],
    [
      "keeps an entry that is not there",
      async (request) =>
        ({ ...(await handled(request)), firstKeptEntryId: "nowhere" }) as CompactionInterceptResult,
      /no such entry/,
    ],
    [
      "makes nothing smaller",
      async (request) =>
        ({ ...(await handled(request)), summary: filler(40_000) }) as CompactionInterceptResult,
      /would not make the context smaller/,
    ],
  ];
  for (const [title, intercept, reason] of bad) {
    it(`an interceptor that ${title} is a degradation, and the default follows`, async () => {
      const { events } = await turn({ info: INTERCEPTS, intercept });
      const [degraded, ...more] = ofType(events, "context.degraded");
      assert.deepEqual(more, []);
      assert.equal(degraded?.stage, "intercept");
      assert.match(degraded?.reason ?? "", reason);
      assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
      assert.equal(setting.summaryBodies().length, 1);
      const { compactions, degraded: reported } = await setting.status();
      assert.equal(compactions, 1);
      assert.equal(reported[0]?.stage, "intercept");
      await setting.ask("go on");
    });
  }

  it("one that never returns costs the compaction's deadline, and its signal is aborted", async () => {
    const signals: AbortSignal[] = [];
    const { events } = await turn(
      {
        info: INTERCEPTS,
        intercept: ({ signal }) => (signals.push(signal), new Promise(() => undefined)),
      },
      { compaction: { ...RESERVES, timeoutSeconds: 1 } },
    );
    assert.equal(signals[0]?.aborted, true);
    assert.equal(ofType(events, "context.degraded")[0]?.stage, "intercept");
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "built-in");
    assert.equal(events.at(-1)?.type, "turn.completed");
  });

  it("is aborted with its turn, and its later result is ignored", async () => {
    const stop = new AbortController();
    const signals: AbortSignal[] = [];
    const { events } = await turn(
      {
        info: INTERCEPTS,
        intercept: (request) => {
          signals.push(request.signal);
          stop.abort();
          return handled(request);
        },
      },
      { run: { signal: stop.signal } },
    );
    assert.equal(signals[0]?.aborted, true);
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
    const { compactions, lastTurn } = await setting.status();
    assert.deepEqual([compactions, lastTurn?.outcome], [0, "aborted"]);
    await setting.ask("go on");
  });
});
