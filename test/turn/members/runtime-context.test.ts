import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type {
  PromptCacheInfo,
  RuntimeContext,
} from "../../../packages/contract/src/engine/runtime-context.ts";
import type {
  RuntimeReasonCode,
  RuntimeSettings,
} from "../../../packages/contract/src/engine/runtime-settings.ts";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { ModelInfo } from "../../../packages/contract/src/model.ts";
import { runtimeSettings } from "../../../packages/host/src/turn/engine/runtime-settings.ts";
import type { ReplyStep } from "../../servers/server.ts";
import type { ModelOptions } from "../setting.ts";
import { answered, Calls, calls, engineOf, MembersBench } from "./members-bench.ts";

const CACHED = { input: 10, output: 5, cacheRead: 700, cacheWrite: 300 };
const FIVE_MINUTES = 5 * 60_000;

interface Given {
  runtimeContext?: RuntimeContext;
  runtimeSettings?: RuntimeSettings;
}

interface Walk {
  forward: string[];
  backward: string[];
  first: string | undefined;
  unknown: string | undefined;
}

/** The engine with members that read the transcript while they are called. */
function walking(engine: ContextEngine, walks: Map<string, Walk>): ContextEngine {
  const members = Object.entries(engine).map(([name, member]) => {
    if (typeof member !== "function") return [name, member];
    const call = member as (params: unknown) => unknown;
    return [
      name,
      async (params?: Given) => {
        if (params?.runtimeContext) walks.set(name, await walk(params.runtimeContext));
        return call(params);
      },
    ];
  });
  return Object.fromEntries(members) as ContextEngine;
}

async function walk({ transcript }: RuntimeContext): Promise<Walk> {
  const forward: string[] = [];
  for await (const { id } of transcript.forward()) forward.push(id);
  const backward: string[] = [];
  for await (const { id } of transcript.backward()) backward.unshift(id);
  const first = await transcript.get(forward[0] ?? "");
  const unknown = await transcript.get("nowhere");
  return { forward, backward, first: first?.id, unknown: unknown?.id };
}

describe("runtimeContext", () => {
  let bench: MembersBench;
  let asked: Calls;
  beforeEach(() => {
    asked = new Calls();
  });
  afterEach(() => bench.end());

  /** The newest context of each member. */
  function given(): Map<string, Required<Given>> {
    const found = new Map<string, Required<Given>>();
    for (const { member, params } of asked.all()) {
      const { runtimeContext, runtimeSettings } = (params ?? {}) as Given;
      if (runtimeContext && runtimeSettings) found.set(member, { runtimeContext, runtimeSettings });
    }
    return found;
  }

  for (const settling of ["ingest", "ingestBatch", "afterTurn", "commitTurn"] as const) {
    it(`is whole in every member of an engine that settles with ${settling}`, async () => {
      bench = await MembersBench.open();
      const members = {
        ingest: {},
        ingestBatch: { ingestBatch: async () => ({ ingestedCount: 2 }) },
        afterTurn: { afterTurn: async () => undefined },
        commitTurn: { commitTurn: async () => ({ status: "committed" as const }) },
      };
      const plain = engineOf(asked, {
        bootstrap: async () => ({ bootstrapped: true }),
        maintain: async () => ({ changed: false, bytesFreed: 0, rewrittenEntries: 0 }),
        ...members[settling],
      });
      const walks = new Map<string, Walk>();
      const engine = walking(plain, walks);
      const before = await bench.start({ engine });
      await bench.ask(before, "One");
      await before.close();
      const pagurus = await bench.start({ engine });
      await bench.ask(pagurus, "Two");
      await pagurus.compact({ cwd: bench.root });
      const contexts = given();
      assert.deepEqual(
        [...contexts.keys()].toSorted(),
        ["assemble", "bootstrap", "compact", "maintain", settling].toSorted(),
      );
      for (const [member, { runtimeContext, runtimeSettings }] of contexts) {
        assertWhole(member, runtimeContext);
        const { forward, backward, first, unknown } = walks.get(member) ?? {};
        assert.ok(forward && forward.length > 0, `${member} walked the transcript`);
        assert.deepEqual([backward, first, unknown], [forward, forward[0], undefined], member);
        assertSettings(member, runtimeSettings);
      }
    });
  }

  function assertWhole(member: string, context: RuntimeContext): void {
    const { provider, model, modelId, agentId, agentHarnessId, cwd, contextWindow } = context;
    assert.deepEqual(
      { provider, model, modelId, agentId, agentHarnessId, cwd, contextWindow },
      {
        provider: "test",
        model: "test/model",
        modelId: "model",
        agentId: "main",
        agentHarnessId: "embedded",
        cwd: bench.root,
        contextWindow: 100_000,
      },
      member,
    );
    const config = context.config as { plugins?: { slots?: Record<string, string> } };
    assert.equal(config.plugins?.slots?.["contextEngine"], "mine");
    // A manual compaction is no turn.
    assert.equal(context.turnId === undefined, member === "compact");
    assert.equal(context.manualCompaction, member === "compact" ? true : undefined);
    assert.ok(context.tokenBudget > 0 && context.tokenBudget < contextWindow);
    assert.equal(context.allowDeferredCompactionExecution, false);
    const [text, message] = [
      context.tokens("word ".repeat(100)),
      context.tokens([{ role: "user", content: "Hi" }]),
    ];
    assert.ok(text > message && message > 0, `${text} ${message}`);
    assert.equal(typeof context.llm.complete, "function");
    const { sessionId, ...target } = context.sessionTarget ?? {};
    assert.deepEqual(target, {
      agentId: "main",
      sessionKey: "main",
      storePath: join(bench.root, "home", "agents", "main"),
    });
    assert.match(sessionId ?? "", /^[0-9a-z]{16}$/);
  }

  function assertSettings(member: string, settings: RuntimeSettings): void {
    const { limits, ...rest } = settings;
    assert.deepEqual(
      rest,
      {
        schemaVersion: 1,
        runtime: { host: "openclaw", mode: "normal", harnessId: "embedded", runtimeId: "embedded" },
        model: { requested: "test/model", resolved: "test/model", provider: "test", family: null },
        contextEngineSelection: { selectedId: "mine", source: "configured" },
        executionHost: { id: "embedded", label: "Pagurus agent loop" },
        diagnostics: { fallbackReason: null, degradedReason: null },
      },
      member,
    );
    assert.equal(limits.maxOutputTokens, 4_000);
    assert.ok(Number(limits.promptTokenBudget) > 0);
  }

  it("completes with the turn's model, and the turn pays for it", async () => {
    bench = await MembersBench.open((request, index) =>
      request.text.includes("Sum it up") ? { text: "It was calm." } : answered(request, index),
    );
    const answers: unknown[] = [];
    const engine = engineOf(asked, {
      assemble: async ({ messages, runtimeContext }) => {
        const answer = await runtimeContext?.llm.complete({
          messages: [{ role: "user", content: "Sum it up." }],
          systemPrompt: "Be short.",
          maxTokens: 50,
          purpose: "digest",
        });
        answers.push(answer?.text, answer?.provider, answer?.model);
        return { messages, estimatedTokens: 0 };
      },
    });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    assert.deepEqual(answers, ["It was calm.", "test", "model"]);
    assert.match(bench.body(0).system, /Be short\./);
    const receipts = await pagurus.context.receipts({});
    assert.ok(receipts.some(({ purpose }) => purpose === "digest"));
  });

  it("lists what has degraded in the turn, in every later call of it", async () => {
    bench = await MembersBench.open();
    let fails = true;
    const engine = engineOf(asked, {
      assemble: async ({ messages }) => {
        if (fails) throw new Error("the index is gone");
        return { messages, estimatedTokens: 0 };
      },
      afterTurn: async () => undefined,
    });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    const { runtimeSettings } = asked.last("afterTurn");
    assert.equal(runtimeSettings?.runtime.mode, "degraded");
    assert.equal(runtimeSettings?.diagnostics.degradedReason, "unknown");
    assert.match(runtimeSettings?.diagnostics.notes?.[0] ?? "", /^assemble: .*the index is gone/);
    fails = false;
    await bench.ask(pagurus, "Two");
    const later = asked.last("afterTurn").runtimeSettings;
    assert.equal(later?.runtime.mode, "normal");
    assert.deepEqual(later?.diagnostics, { fallbackReason: null, degradedReason: null });
  });

  const causes: [PagurusError, RuntimeReasonCode][] = [
    [new PagurusError("model_rate_limited", "Too often."), "rate_limited"],
    [
      new PagurusError("model_unavailable", "Silent.", { details: { reason: "timeout" } }),
      "provider_timeout",
    ],
    [new PagurusError("model_unavailable", "Down."), "provider_unavailable"],
    [new PagurusError("context_overflow", "Too long."), "context_overflow"],
    [new PagurusError("runtime_failed", "Gone."), "runtime_unavailable"],
    [new PagurusError("engine_failed", "Odd."), "unknown"],
  ];
  for (const [error, reason] of causes)
    it(`names ${reason} as the reason of a degradation by ${error.code}: ${error.message}`, async () => {
      bench = await MembersBench.open();
      const engine = engineOf(asked, {
        assemble: () => Promise.reject(error),
        afterTurn: async () => undefined,
      });
      await bench.ask(await bench.start({ engine }), "One");
      assert.equal(asked.last("afterTurn").runtimeSettings?.diagnostics.degradedReason, reason);
    });

  it("names the model that was asked for, and why another one took over", () => {
    const fallbacks = [
      { from: "one/model", to: "two/model", reason: "overloaded" as const },
      { from: "two/model", to: "test/model", reason: "timeout" as const },
    ];
    const { runtime, model, diagnostics } = runtimeSettings(
      {
        host: { slot: { id: "own", configured: true } },
        model: { ref: "test/model", provider: "test" } as ModelInfo,
        harness: { id: "embedded", label: "Own" },
        tokenBudget: 1_000,
      },
      { degraded: [], causeOf: () => undefined, fallbacks },
    );
    assert.equal(runtime.mode, "fallback");
    assert.deepEqual([model.requested, model.resolved], ["one/model", "test/model"]);
    assert.deepEqual(diagnostics, { fallbackReason: "provider_timeout", degradedReason: null });
  });
});

describe("runtimeContext.promptCache", () => {
  let bench: MembersBench;
  let asked: Calls;
  afterEach(() => bench.end());

  /** The promptCache of each assembly of a turn of two requests, and of its end. */
  async function cacheTurn(
    protocol: "anthropic-messages" | "openai-completions",
    usage: ReplyStep["usage"],
    model: ModelOptions & { promptCache?: string } = {},
  ) {
    asked = new Calls();
    const reply = usage === undefined ? {} : { usage };
    bench = await MembersBench.open(
      (_request, index) => ({
        ...(index === 0 ? calls("glob", { pattern: "*" }) : { text: "Done." }),
        ...reply,
      }),
      protocol,
    );
    const engine = engineOf(asked, { afterTurn: async () => undefined }, { assembleScope: "call" });
    const pagurus = await bench.start({ engine, model });
    const began = Date.now();
    await bench.ask(pagurus, "One");
    const seen = asked.of("assemble").map(({ runtimeContext }) => runtimeContext?.promptCache);
    const end = asked.last("afterTurn").runtimeContext;
    return { seen, end, began, pagurus };
  }

  function assertTouched({ lastCacheTouchAt = 0 }: PromptCacheInfo, began: number): void {
    assert.ok(lastCacheTouchAt >= began && lastCacheTouchAt <= Date.now());
  }

  it("describes the last call once one was made, and how long marked prefixes are kept", async () => {
    const { seen, end, began } = await cacheTurn("anthropic-messages", CACHED);
    assert.equal(seen[0], undefined, "nothing is known before the first call");
    for (const cache of [seen[1], end?.promptCache]) {
      assert.ok(cache);
      assertTouched(cache, began);
      assert.deepEqual(cache.lastCallUsage, {
        ...CACHED,
        contextUsage: {
          state: "available",
          promptTokens: 1_015 - CACHED.output,
          totalTokens: 1_015,
        },
        total: 1_015,
      });
      assert.equal(cache.retention, "short");
      assert.equal(cache.expiresAt, (cache.lastCacheTouchAt ?? 0) + FIVE_MINUTES);
    }
    assert.equal(end?.usage?.totalTokens, 1_015);
    assert.equal(end?.currentTokenCount, 1_015);
    const marked = bench.server.requests.map(({ text }) => text.split('"cache_control"').length - 1);
    assert.ok(
      marked.every((marks) => marks >= 1),
      `each request has marks: ${marked.join()}`,
    );
  });

  it("carries the host's verdict on the last call, with what changed by OpenClaw's code", async () => {
    asked = new Calls();
    bench = await MembersBench.open(
      (_request, index) => ({ text: "Done.", usage: { ...CACHED, cacheRead: 700 + index } }),
      "anthropic-messages",
    );
    let addition = "Mind the gap.";
    const engine = engineOf(asked, {
      assemble: async ({ messages }) => ({ messages, systemPromptAddition: addition }),
      afterTurn: async () => undefined,
    });
    const pagurus = await bench.start({ engine });
    const verdicts: unknown[] = [];
    for (const text of ["One", "Two", "Three"]) {
      if (text === "Three") addition = "Mind the step.";
      await bench.ask(pagurus, text);
      const { detail: _, ...change } =
        asked.last("afterTurn").runtimeContext?.promptCache?.observation?.changes?.[0] ?? {};
      const { changes, ...verdict } = asked.last("afterTurn").runtimeContext?.promptCache?.observation ?? {};
      verdicts.push({ ...verdict, ...(changes && { changes: [change] }) });
    }
    assert.deepEqual(verdicts, [
      { broke: false, cacheRead: 700 },
      { broke: false, previousCacheRead: 700, cacheRead: 701 },
      { broke: true, previousCacheRead: 701, cacheRead: 702, changes: [{ code: "systemPrompt" }] },
    ]);
  });

  it("names no retention when the host sets no marks", async () => {
    for (const [protocol, model] of [
      ["anthropic-messages", { promptCache: "automatic" }],
      ["openai-completions", {}],
    ] as const) {
      const { end, began } = await cacheTurn(protocol, { input: 10, output: 5, cacheRead: 700 }, model);
      assert.ok(end?.promptCache);
      assertTouched(end.promptCache, began);
      assert.equal(end.promptCache.lastCallUsage?.cacheRead, 700);
      assert.ok(!("retention" in end.promptCache) && !("expiresAt" in end.promptCache));
      if (protocol === "anthropic-messages") await bench.end();
    }
  });

  it("is absent for a server that reports nothing", async () => {
    const { end } = await cacheTurn("openai-completions", null);
    assert.equal(end?.promptCache, undefined);
  });

  it("describes the last turn in the next process", async () => {
    const { pagurus, end } = await cacheTurn("anthropic-messages", CACHED);
    await pagurus.close();
    await bench.ask(await bench.start({ engine: engineOf(asked) }), "Two");
    const [first] = asked.of("assemble").slice(2);
    assert.deepEqual(first?.runtimeContext?.promptCache?.lastCallUsage, end?.promptCache?.lastCallUsage);
    assert.equal(first?.runtimeContext?.promptCache?.retention, "short");
  });
});
