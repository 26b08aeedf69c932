import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { prepareCompaction } from "../../packages/core/src/compaction/preparation.ts";
import { compactByRuntime } from "../../packages/core/src/compaction/runtime-compaction.ts";
import {
  leastGain,
  planRuntimeCompaction,
  type RuntimePlan,
} from "../../packages/core/src/compaction/runtime-plan.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { renderSummary } from "../../packages/contract/src/engine/summary.ts";
import { messagesTokens } from "../../packages/core/src/tokens/message-tokens.ts";
import { assistant, call, histories, numbered, result, rounds, user } from "./histories.ts";

const tokens = (): number => 100;
const SETTINGS = { enabled: true, reserveTokens: 8_000 };

async function planned(
  messages: AgentMessage[],
  liveStart: number,
  keepRecentTokens: number,
): Promise<RuntimePlan> {
  const plan = await planRuntimeCompaction({
    messages,
    liveStart,
    keepRecentTokens,
    tokenBudget: 100_000,
    tokens,
  });
  assert.ok(!("reason" in plan), "reason" in plan ? plan.reason : "");
  return plan;
}

test("with a cut between turns the event has all messages in one list and no split", async () => {
  const messages = numbered([
    user("1"),
    assistant("a"),
    user("2"),
    assistant("b"),
    user("3"),
    assistant("c"),
  ]);
  const preparation = prepareCompaction(await planned(messages, 6, 200), SETTINGS);
  assert.deepEqual(preparation, {
    firstKeptEntryId: "e4",
    messagesToSummarize: messages.slice(0, 4),
    turnPrefixMessages: [],
    isSplitTurn: false,
    tokensBefore: 600,
    fileOps: { read: [], written: [], edited: [] },
    settings: { enabled: true, reserveTokens: 8_000, keepRecentTokens: 200 },
  });
});

test("the event lists the summarized part of a split turn separately, without the input that stays", async () => {
  const edits = [
    assistant("", [call("w", "write", { path: "a.ts", content: "x" }), call("r", "read", { path: "b.ts" })]),
    result("w", "ok"),
    result("r", "ok"),
  ];
  const messages = numbered([
    user(renderSummary("S")),
    user("1"),
    assistant("a"),
    user("job"),
    ...edits,
    ...rounds(6),
  ]);
  const preparation = prepareCompaction(await planned(messages, 3, 700), SETTINGS);
  assert.equal(preparation.isSplitTurn, true);
  assert.equal(preparation.previousSummary, "S");
  assert.deepEqual(preparation.messagesToSummarize, messages.slice(1, 3));
  const kept = messages.findIndex(({ entryId }) => entryId === preparation.firstKeptEntryId);
  assert.deepEqual(preparation.turnPrefixMessages, messages.slice(4, kept));
  assert.deepEqual(preparation.fileOps, { read: ["b.ts"], written: ["a.ts"], edited: [] });
});

test("the lists of the event are exactly what the plan summarizes, whatever the history", async () => {
  await fc.assert(
    fc.asyncProperty(
      histories,
      fc.integer({ min: 0, max: 400 }),
      async ({ messages, liveStart }, keepRecentTokens) => {
        const plan = await planRuntimeCompaction({
          messages,
          liveStart,
          keepRecentTokens,
          tokenBudget: 2_000,
        });
        if ("reason" in plan) return;
        const preparation = prepareCompaction(plan, SETTINGS);
        const { messagesToSummarize, turnPrefixMessages } = preparation;
        assert.deepEqual([...messagesToSummarize, ...turnPrefixMessages], plan.toSummarize);
        assert.ok(preparation.isSplitTurn || turnPrefixMessages.length === 0);
        const input = messages.findIndex(({ entryId }) => entryId === plan.splitTurnInputId);
        for (const message of turnPrefixMessages) assert.ok(messages.indexOf(message) > input);
      },
    ),
  );
});

test("the minimum gain of a compaction is a share of the context, and reachable in a small one", async () => {
  assert.equal(leastGain(200_000), 10_000);
  assert.equal(leastGain(24_000), 1_200);
  assert.equal(leastGain(4_000), 500);
  assert.equal(leastGain(400), 100);
});

test("a compaction that could gain next to nothing is not planned, so no model is called", async () => {
  const big = "word ".repeat(8_000);
  const messages = numbered([user("hello"), assistant("hi"), user(big), assistant("done"), user("next")]);
  const answer = await compactByRuntime({
    messages,
    liveStart: 4,
    keepRecentTokens: messagesTokens(messages.slice(2)),
    tokenBudget: 40_000,
    windowTokens: 50_000,
    llm: async () => assert.fail("the model was asked"),
  });
  assert.deepEqual([answer.ok, answer.compacted], [true, false]);
  assert.match(answer.reason ?? "", /nothing worth compacting: of \d+ tokens at most \d+ would be gained/);
});

/** The context after a compaction, as the store returns it. */
function after(messages: readonly AgentMessage[], plan: RuntimePlan, summary: string): AgentMessage[] {
  const input = messages.filter(({ entryId }) => entryId !== undefined && entryId === plan.splitTurnInputId);
  return [...input, user(renderSummary(summary), "s"), ...messages.slice(plan.firstKeptIndex)];
}

test("repeated compactions of one context end: each reaches the minimum gain, until none can", async () => {
  const params = { keepRecentTokens: 60, tokenBudget: 400, windowTokens: 8_000 };
  await fc.assert(
    fc.asyncProperty(histories, async ({ messages, liveStart }) => {
      let context = messages;
      let live = liveStart;
      const liveId = messages[liveStart]?.entryId;
      for (let step = 0; ; step += 1) {
        assert.ok(step < 6, "compactions of the same context do not end");
        const plan = await planRuntimeCompaction({ ...params, messages: context, liveStart: live });
        const answer = await compactByRuntime({ ...params, messages: context, liveStart: live });
        if ("reason" in plan || !answer.compacted) return;
        const before = messagesTokens(context);
        context = after(context, plan, answer.result?.summary ?? "");
        assert.equal(answer.result?.tokensAfter, messagesTokens(context));
        assert.ok(before - messagesTokens(context) >= leastGain(before));
        const at = context.findIndex(({ entryId }) => entryId !== undefined && entryId === liveId);
        live = at < 0 ? context.length : at;
      }
    }),
    { numRuns: 60 },
  );
});

test("a session with tools in a window of 32k has many turns between compactions", async () => {
  const params = { keepRecentTokens: 20_000, tokenBudget: 24_000, windowTokens: 32_000 };
  const output = "src/module.ts: a line of some tool's output that says little\n".repeat(30);
  let context: AgentMessage[] = [];
  const compactedAt: number[] = [];
  for (let turn = 0; turn < 300; turn += 1) {
    context.push(
      user(`request ${turn}: change module_${turn}.ts`, `u${turn}`),
      assistant("", [call(`c${turn}`, "edit", { path: `src/module_${turn}.ts` })], `a${turn}`),
      { ...result(`c${turn}`, output), entryId: `r${turn}` },
      assistant(`Module ${turn} is changed as asked.`, [], `b${turn}`),
    );
    if (messagesTokens(context) < params.tokenBudget * 0.9) continue;
    const plan = await planRuntimeCompaction({ ...params, messages: context, liveStart: context.length });
    const answer = await compactByRuntime({ ...params, messages: context, liveStart: context.length });
    assert.ok(!("reason" in plan) && answer.compacted, answer.reason);
    context = after(context, plan, answer.result?.summary ?? "");
    compactedAt.push(turn);
  }
  assert.ok(compactedAt.length > 10);
  for (const [index, turn] of compactedAt.entries()) {
    if (index > 0) assert.ok(turn - (compactedAt[index - 1] ?? 0) >= 5, `${compactedAt.join()}`);
  }
});

test("one turn of 600 rounds, three times a window of 32k, is split repeatedly after its input", async () => {
  const params = { keepRecentTokens: 20_000, tokenBudget: 24_000, windowTokens: 32_000 };
  const output = "checked: a line of some tool's output that says little\n".repeat(12);
  const input = user("Go through all six hundred parts and never skip one.", "input");
  let context: AgentMessage[] = [user("hello", "u"), assistant("hi", [], "h"), input];
  const compactedAt: number[] = [];
  for (let round = 0; round < 600; round += 1) {
    context.push(
      assistant("", [call(`c${round}`, "shell", { command: `check part_${round}` })], `a${round}`),
      { ...result(`c${round}`, output), entryId: `r${round}` },
    );
    if (messagesTokens(context) < params.tokenBudget * 0.9) continue;
    const shape = { ...params, messages: context, liveStart: context.indexOf(input) };
    const plan = await planRuntimeCompaction(shape);
    const answer = await compactByRuntime(shape);
    assert.ok(!("reason" in plan) && answer.compacted, answer.reason);
    assert.equal(answer.result?.splitTurnInputId, "input");
    context = after(context, plan, answer.result?.summary ?? "");
    assert.equal(context[0], input);
    assert.ok(messagesTokens(context) <= params.tokenBudget);
    compactedAt.push(round);
  }
  assert.ok(compactedAt.length >= 3);
  for (const [index, round] of compactedAt.entries()) {
    if (index > 0) assert.ok(round - (compactedAt[index - 1] ?? 0) >= 20, compactedAt.join());
  }
});
