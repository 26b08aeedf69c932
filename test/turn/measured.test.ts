/** Tokens that a harness adds to its requests itself: not part of the engine's budget, in the turn and in later ones. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngineInfo } from "../../packages/contract/src/engine/engine.ts";
import type { AgentHarness, HarnessTurn } from "../../packages/contract/src/harness/harness.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { Receipt, Seam } from "../../packages/contract/src/session/receipt.ts";
import { recordingEngine, type Calls } from "./lanes/setting.ts";
import { Bench } from "./in-process.ts";
import { startWith } from "./start-with.ts";

const WINDOW = 40_000;
const RESERVE = WINDOW / 4;

describe("tokens that a harness adds itself", () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await Bench.with(() => ({ text: "unasked" }));
  });
  afterEach(() => bench.end());

  type Run = (turn: HarnessTurn) => Promise<void>;

  async function open(
    seam: Seam,
    run: Run,
    info: Partial<ContextEngineInfo> = {},
  ): Promise<{ pagurus: Pagurus; calls: Calls }> {
    const harness: AgentHarness = {
      id: "shell",
      label: "Shell",
      contract: "pagurus.harness/2",
      execution: { kind: "external" },
      seam,
      capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
      supports: () => ({ supported: true }),
      start: startWith(async (turn) => {
        await run(turn);
        return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
      }),
    };
    const { engine, calls } = recordingEngine({ info });
    const defaults = { models: { "test/model": { agentRuntime: { id: "shell" } } } };
    const model = { contextWindow: WINDOW };
    return { pagurus: await bench.host({ engine, defaults, model, more: { harnesses: [harness] } }), calls };
  }

  const last = async (pagurus: Pagurus): Promise<Receipt> =>
    (await pagurus.context.receipts({})).at(-1) ?? assert.fail();

  it("count against the window from the request on in which they were measured", async () => {
    const budgets: number[] = [];
    const { pagurus, calls } = await open(
      "wire",
      async (turn) => {
        for (const fixedTokens of [12_000, 13_000]) {
          await turn.context.assemble({ fixedTokens });
          budgets.push(turn.tokenBudget);
          turn.context.receipt({ seam: "wire" });
        }
      },
      { assembleScope: "call" },
    );
    const events = await bench.ask(pagurus, "Go.");
    const wanted = [WINDOW - RESERVE - 12_000, WINDOW - RESERVE - 13_000];
    assert.deepEqual(budgets, wanted);
    assert.deepEqual(
      calls.assemble.map(({ tokenBudget, runtimeContext }) => [tokenBudget, runtimeContext?.tokenBudget]),
      wanted.map((budget) => [budget, budget]),
    );
    assert.equal(calls.afterTurn[0]?.tokenBudget, wanted[1]);
    const end = events.at(-1);
    assert.equal(end?.type === "turn.completed" && end.context?.budget, wanted[1]);
    assert.deepEqual(
      (await pagurus.context.receipts({})).map(({ fixedTokens, tokenBudget }) => [fixedTokens, tokenBudget]),
      [
        [12_000, wanted[0]],
        [13_000, wanted[1]],
      ],
    );
  });

  it("are known before the first request of the next turn, in another host too, and to previews", async () => {
    const budgets: number[] = [];
    const run: Run = async (turn) => {
      budgets.push(turn.tokenBudget);
      await turn.context.assemble({ fixedTokens: 12_000 });
      turn.context.receipt({ seam: "wire" });
    };
    const first = await open("wire", run);
    await bench.ask(first.pagurus, "Go.");
    await first.pagurus.close();
    const { pagurus } = await open("wire", run);
    const { receipt } = await pagurus.context.preview({ prompt: "Go on.", cwd: bench.root });
    await bench.ask(pagurus, "Go on.");
    assert.ok((budgets[0] ?? 0) > WINDOW - RESERVE - 12_000, "nothing is known of a new session");
    assert.equal(budgets[1], WINDOW - RESERVE - 12_000);
    assert.equal(receipt.tokenBudget, WINDOW - RESERVE - 12_000);
    const { pagurus: another } = await open("wire", () => Promise.resolve());
    const elsewhere = await another.context.preview({ sessionKey: "other", prompt: "Go.", cwd: bench.root });
    assert.ok(elsewhere.receipt.tokenBudget > WINDOW - RESERVE - 12_000, "nor of another session");
  });

  it("make the host call an engine again in the turn that had a larger budget, and no other", async () => {
    const { pagurus, calls } = await open("wire", async (turn) => {
      await turn.context.assemble();
      for (const fixedTokens of [12_000, 12_000, 11_000, 13_000])
        await turn.context.assemble({ fixedTokens });
    });
    await bench.ask(pagurus, "Go.");
    assert.deepEqual(
      calls.assemble.slice(1).map(({ tokenBudget, prompt }) => [tokenBudget, prompt]),
      [
        [WINDOW - RESERVE - 12_000, "Go."],
        [WINDOW - RESERVE - 13_000, "Go."],
      ],
    );
  });

  it("are no other runtime's", async () => {
    const { pagurus } = await open("wire", async (turn) => {
      await turn.context.assemble({ fixedTokens: 12_000 });
      turn.context.receipt({ seam: "wire" });
    });
    await bench.ask(pagurus, "Go.");
    await bench.ask(pagurus, "Go on.", { runtime: "embedded" });
    const { tokenBudget, fixedTokens } = await last(pagurus);
    assert.ok(tokenBudget > WINDOW - RESERVE - 12_000, String(tokenBudget));
    assert.equal(fixedTokens, undefined);
  });

  it("are of the newest turn, whose receipts are shown, although an older one's background work sends the newest request", async () => {
    const budgets: number[] = [];
    const { pagurus, calls } = await open("wire", async (turn) => {
      budgets.push(turn.tokenBudget);
      await turn.context.assemble({ fixedTokens: 12_000 + budgets.length });
      turn.context.receipt({ seam: "wire" });
      if (budgets.length !== 2) return;
      const messages = [{ role: "user" as const, content: "Sum it up." }];
      await calls.assemble[0]?.runtimeContext?.llm.complete({ purpose: "summary", messages });
    });
    const turnIds: string[] = [];
    for (const prompt of ["Go.", "Go on.", "And on."]) {
      const events = await bench.ask(pagurus, prompt);
      turnIds.push(...events.flatMap((event) => (event.type === "turn.started" ? [event.turnId] : [])));
      const shown = await pagurus.context.receipts({});
      assert.deepEqual(
        shown.map(({ turnId, purpose }) => [turnId, purpose]),
        [[turnIds.at(-1), undefined]],
      );
    }
    const older = await pagurus.context.receipts({ turnId: turnIds[0] ?? assert.fail() });
    assert.deepEqual(
      older.map(({ purpose }) => purpose),
      [undefined, "summary"],
    );
    assert.equal(budgets[2], WINDOW - RESERVE - 12_002);
  });

  it("are still known after the engine's own model calls", async () => {
    const budgets: number[] = [];
    const { pagurus, calls } = await open("wire", async (turn) => {
      budgets.push(turn.tokenBudget);
      await turn.context.assemble({ fixedTokens: 12_000 });
      turn.context.receipt({ seam: "wire" });
      const messages = [{ role: "user" as const, content: "Sum it up." }];
      await calls.assemble.at(-1)?.runtimeContext?.llm.complete({ purpose: "summary", messages });
    });
    await bench.ask(pagurus, "Go.");
    assert.equal((await last(pagurus)).purpose, "summary");
    await bench.ask(pagurus, "Go on.");
    assert.equal(budgets[1], WINDOW - RESERVE - 12_000);
  });

  it("leave less of a window to one result of a tool", async () => {
    const lengths: number[] = [];
    const { pagurus } = await open("wire", async (turn) => {
      const call = { type: "toolCall" as const, id: "c1", name: "look", arguments: {} };
      await turn.io.emit({ type: "message", message: { role: "assistant", content: [call] } });
      const text = "The keeper writes. ".repeat(4_000);
      const content = [{ type: "text" as const, text }];
      const result = { role: "toolResult" as const, toolCallId: "c1", toolName: "look", content };
      await turn.io.emit({ type: "message", message: { ...result, isError: false } });
      for (const fixedTokens of [2_000, 20_000, 20_000]) {
        const { messages } = await turn.context.assemble({ fixedTokens });
        lengths.push(JSON.stringify(messages.at(-1)).length);
      }
    });
    await bench.ask(pagurus, "Go.");
    const [first = 0, second = 0, third = 0] = lengths;
    assert.ok(second < first / 2, lengths.join(" "));
    assert.equal(second, third);
  });

  it("ignore implausible numbers", async () => {
    const budgets: number[] = [];
    const { pagurus } = await open("wire", async (turn) => {
      for (const fixedTokens of [Number.NaN, -1, Infinity]) {
        await turn.context.assemble({ fixedTokens });
        budgets.push(turn.tokenBudget);
      }
      await turn.context.assemble({ fixedTokens: 10 * WINDOW });
      assert.equal(turn.tokenBudget, 0);
    });
    await bench.ask(pagurus, "Go.");
    assert.equal(new Set(budgets).size, 1);
    assert.ok((budgets[0] ?? 0) > WINDOW / 2, String(budgets));
  });

  describe("tokens added to a thread follow the provider's count", () => {
    const COUNTED = 15_000;
    const thread =
      (usage: number, budgets: number[], seam: Seam = "thread"): Run =>
      async (turn) => {
        budgets.push(turn.tokenBudget);
        await turn.context.assemble();
        turn.context.receipt({ seam });
        const cacheRead = usage / 2;
        turn.context.receipt({ usage: { input: cacheRead, cacheRead, output: 1, totalTokens: usage + 1 } });
        budgets.push(turn.tokenBudget);
      };

    it("in a session's first request, besides its conversation", async () => {
      const budgets: number[] = [];
      const { pagurus } = await open("thread", thread(COUNTED, budgets));
      await bench.ask(pagurus, "Go.");
      const [before = 0, after = 0] = budgets;
      assert.ok(before > after, budgets.join(" "));
      const messages = (await last(pagurus)).parts.filter(({ role }) => role !== "system");
      const own = COUNTED - messages.reduce((sum, { tokens }) => sum + tokens, 0);
      assert.equal(after, WINDOW - RESERVE - own);
      await bench.ask(pagurus, "Go on.");
      assert.deepEqual(budgets.slice(2), [after, after]);
      assert.equal((await last(pagurus)).fixedTokens, own);
    });

    it("not in one with more than a little conversation, nor when a count is implausible", async () => {
      const budgets: number[] = [];
      const { pagurus } = await open("thread", thread(500, budgets));
      await bench.ask(pagurus, "Go.", { sessionKey: "little" });
      assert.equal(budgets[0], budgets[1]);
      const long = await open("thread", thread(COUNTED, budgets));
      await bench.ask(long.pagurus, "The keeper writes. ".repeat(1_500), { sessionKey: "much" });
      assert.equal(budgets[2], budgets[3]);
      const wild = await open("thread", thread(99_000_000, budgets));
      await bench.ask(wild.pagurus, "Go.", { sessionKey: "wild" });
      assert.equal(budgets[4], budgets[5]);
    });

    it("and not when a prompt is a text projection, whose calls are counted together", async () => {
      const budgets: number[] = [];
      const { pagurus } = await open("projection", thread(COUNTED, budgets, "projection"));
      await bench.ask(pagurus, "Go.");
      await bench.ask(pagurus, "Go on.");
      assert.equal(new Set(budgets).size, 1);
    });
  });
});
