/** The reserve of the window, for each engine, and the estimate that the check before a prompt uses. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ContextEngineInfo } from "../../../packages/contract/src/engine/engine.ts";
import {
  filler,
  LaneSetting,
  ofType,
  ownSummary,
  recordingEngine,
  RESERVES,
  summaryIn,
  type Calls,
} from "./setting.ts";

const WINDOW = 200_000;

describe("the budget of a context", () => {
  let setting: LaneSetting;
  afterEach(() => setting.end());

  /** System prompt and tools: the rest of the window when one token is reserved. */
  let fixed = 0;

  async function open(
    info: Partial<ContextEngineInfo>,
    compaction: Record<string, unknown>,
    window = WINDOW,
  ): Promise<Calls> {
    const { engine, calls } = recordingEngine({ info, compact: ownSummary });
    const least = { reserveTokens: 1, reserveTokensFloor: 0 };
    setting = await LaneSetting.open({ engine, compaction: least, model: { contextWindow: window } });
    fixed = window - (await setting.status()).context.budget - 1;
    setting.configure(compaction);
    await setting.restart();
    return calls;
  }

  /** Tokens of the window that are reserved. */
  async function reserved(window = WINDOW): Promise<number> {
    const { context } = await setting.status();
    const { receipt } = await setting.pagurus.context.preview({ prompt: "x", cwd: setting.bench.root });
    assert.equal(receipt.tokenBudget, context.budget, "a preview has the budget of status");
    return window - context.budget - fixed;
  }

  const cases: [string, Partial<ContextEngineInfo>, Record<string, unknown>, number][] = [
    ["nothing configured: the floor", {}, {}, 20_000],
    ["a reserve below the floor: the floor", {}, { reserveTokens: 5_000 }, 20_000],
    ["a reserve above the floor: the reserve", {}, { reserveTokens: 30_000 }, 30_000],
    ["a floor of one's own", {}, { reserveTokens: 1_000, reserveTokensFloor: 7_000 }, 7_000],
    ["a floor of 0 leaves the default reserve", {}, { reserveTokensFloor: 0 }, 16_384],
    ["an owning engine: no floor", { ownsCompaction: true }, {}, 16_384],
    ["an intercepting engine: no floor", { interceptsCompaction: true }, {}, 16_384],
    [
      "an owning engine: an explicit reserve holds",
      { ownsCompaction: true },
      { reserveTokens: 3_000 },
      3_000,
    ],
    [
      "an intercepting engine: an explicit floor counts as 0",
      { interceptsCompaction: true },
      { reserveTokens: 2_000, reserveTokensFloor: 40_000 },
      2_000,
    ],
    ["the flags must be true: false keeps the floor", { interceptsCompaction: false }, {}, 20_000],
  ];
  for (const [title, info, compaction, expected] of cases) {
    it(`reserves ${expected} tokens; ${title}`, async () => {
      await open(info, compaction);
      assert.equal(await reserved(), expected);
    });
  }

  it("reserves a quarter of a small window at most, for each engine", async () => {
    await open({}, {}, 24_000);
    assert.equal(await reserved(24_000), 6_000);
    await setting.end();
    await open({ ownsCompaction: true }, { reserveTokens: 15_000 }, 24_000);
    assert.equal(await reserved(24_000), 6_000);
  });

  it("is the same after a reload, and on the /compact path before and after it", async () => {
    const calls = await open({ interceptsCompaction: true }, {});
    await setting.ask(filler(6_000, "amber"));
    await setting.ask(filler(500, "birch"));
    await setting.compact();
    setting.configure({ reserveTokens: 9_000, reserveTokensFloor: 50_000 });
    await setting.pagurus.reload();
    assert.equal((await setting.status()).context.budget, WINDOW - 9_000 - fixed);
    await setting.ask(filler(500, "cedar"));
    await setting.compact();
    const budgets = calls.compact.map((params) => [params.tokenBudget, params.runtimeContext?.tokenBudget]);
    const [before, after] = [16_384, 9_000].map((free) => WINDOW - free - fixed);
    assert.deepEqual(budgets, [
      [before, before],
      [after, after],
    ]);
    assert.deepEqual(
      calls.assemble.map(({ tokenBudget }) => tokenBudget),
      [before, before, after],
    );
    assert.deepEqual(
      calls.afterTurn.map(({ tokenBudget }) => tokenBudget),
      [before, before, after],
    );
  });

  it("follows the flags of the engine that a reload has put in the slot", async () => {
    await open({ interceptsCompaction: true }, {});
    assert.equal(await reserved(), 16_384);
    setting.configure({}, "legacy");
    await setting.pagurus.reload();
    assert.equal((await setting.status()).engine.effective, "legacy");
    assert.equal(await reserved(), 20_000);
  });
});

describe("promptAuthority", () => {
  let setting: LaneSetting;
  afterEach(() => setting.end());

  /** The engine keeps only the newest message in its context; the history before it exceeds the window. */
  async function grow(authority?: "assembled" | "preassembly_may_overflow"): Promise<Calls> {
    const { engine, calls } = recordingEngine({
      info: { assembleScope: "call" },
      assemble: ({ messages }) => ({
        messages: messages.slice(-1),
        estimatedTokens: 0,
        ...(authority === undefined ? {} : { promptAuthority: authority }),
      }),
      compact: ownSummary,
    });
    setting = await LaneSetting.open({ engine, compaction: RESERVES });
    for (const word of ["amber", "birch", "cedar"]) await setting.ask(filler(9_000, word));
    return calls;
  }

  for (const authority of [undefined, "assembled" as const]) {
    it(`${authority ?? "absent"}: a small assembled context is sent, however large the history is`, async () => {
      const calls = await grow(authority);
      assert.equal(calls.compact.length, 0);
      const [, , third] = setting.turnBodies();
      assert.deepEqual(
        third?.messages.map(({ text }) => text.slice(0, 5)),
        // The engine kept an answer without its question: the host opens the context.
        ["[Earl", "ok", "cedar"],
      );
    });
  }

  it("preassembly_may_overflow: the history that the engine left out counts, and compact() gets that count (finding B2)", async () => {
    const calls = await grow("preassembly_may_overflow");
    assert.equal(calls.compact.length, 1);
    const [params] = calls.compact;
    assert.equal(params?.force, false);
    assert.equal(params?.compactionTarget, "budget");
    assert.ok((params?.currentTokenCount ?? 0) > (params?.tokenBudget ?? Infinity));
    const { recentCompactions } = await setting.status();
    assert.deepEqual(
      recentCompactions.map(({ lane, trigger }) => [lane, trigger]),
      [["queued", "threshold"]],
    );
    // The engine was called again, now with the summary in place of the first turn.
    const asked = calls.assemble.slice(-2).map(({ messages }) => messages.length);
    assert.deepEqual(asked, [4, 3]);
  });

  it("preassembly_may_overflow: nothing is compacted while the history is within the budget too", async () => {
    const { engine, calls } = recordingEngine({
      assemble: ({ messages }) => ({
        messages: messages.slice(-1),
        estimatedTokens: 0,
        promptAuthority: "preassembly_may_overflow",
      }),
    });
    setting = await LaneSetting.open({ engine });
    await setting.ask(filler(9_000, "amber"));
    const events = await setting.ask(filler(9_000, "birch"));
    assert.equal(calls.compact.length, 0);
    assert.deepEqual(ofType(events, "compaction.started"), []);
    assert.equal(summaryIn(setting.turnBodies()[1]), undefined);
  });
});

describe("wantsCompaction", () => {
  let setting: LaneSetting;
  afterEach(() => setting.end());

  it("an engine that wants a compaction below the budget gets it in the queued lane, before the prompt is sent", async () => {
    const { engine, calls } = recordingEngine({
      info: { assembleScope: "call", ownsCompaction: true, interceptsCompaction: true },
      assemble: ({ messages }) => ({
        messages,
        estimatedTokens: 0,
        wantsCompaction: messages.length > 2,
      }),
      compact: ownSummary,
    });
    setting = await LaneSetting.open({ engine, compaction: RESERVES });
    for (const word of ["amber", "birch"]) await setting.ask(filler(2_000, word));
    assert.equal(calls.compact.length, 0, "nothing is asked for before the engine wants it");
    await setting.ask(filler(2_000, "cedar"));
    assert.equal(calls.compact.length, 1);
    const [params] = calls.compact;
    assert.deepEqual([params?.force, params?.compactionTarget], [false, "budget"]);
    const { recentCompactions } = await setting.status();
    assert.deepEqual(
      recentCompactions.map(({ lane, trigger, handledBy }) => [lane, trigger, handledBy]),
      [["queued", "threshold", engine.info.id]],
    );
    assert.notEqual(summaryIn(setting.turnBodies().at(-1)), undefined);
  });

  it("an engine that cannot compact is not asked again until the context has grown", async () => {
    const { engine, calls } = recordingEngine({
      info: { assembleScope: "call", ownsCompaction: true },
      assemble: ({ messages }) => ({ messages, estimatedTokens: 0, wantsCompaction: true }),
      compact: async () => ({ ok: true, compacted: false, reason: "there is nothing to compact" }),
    });
    setting = await LaneSetting.open({ engine, compaction: RESERVES });
    const events = await setting.ask("hello");
    assert.equal(calls.compact.length, 1);
    assert.equal(ofType(events, "turn.completed").length, 1);
  });
});
