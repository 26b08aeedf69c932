import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isValidSequence, repairPairs } from "../../packages/core/src/compaction/tool-pairing.ts";
import { planCompaction, type CompactionPlan } from "../../packages/core/src/compaction/compaction-plan.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { readSummary, renderSummary } from "../../packages/contract/src/engine/summary.ts";
import { assistant, damaged, histories, numbered, rounds, user } from "./histories.ts";
import { FULL, runs } from "../runner/short-form.ts";

const tokens = (): number => 10;
const isSummary = (message: AgentMessage): boolean =>
  typeof message.content === "string" && readSummary(message.content) !== undefined;

/** The input of the turn that a plan splits, as a list. */
function inputOf(messages: AgentMessage[], plan: CompactionPlan): AgentMessage[] {
  return plan.splitTurnInputId === undefined
    ? []
    : messages.filter(({ entryId }) => entryId === plan.splitTurnInputId);
}

/** The context after a compaction, as the store returns it. */
function compacted(messages: AgentMessage[], plan: CompactionPlan): AgentMessage[] {
  const input = inputOf(messages, plan);
  return [...input, user(renderSummary("short"), "s"), ...messages.slice(plan.firstKeptIndex)];
}

function planned(params: Parameters<typeof planCompaction>[0]): CompactionPlan {
  const plan = planCompaction({ tokens, ...params });
  assert.ok(!("reason" in plan), "reason" in plan ? plan.reason : "");
  return plan;
}

test("each message is either summarized or kept, never both, whatever the history", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: 400 }), ({ messages, liveStart }, keepRecentTokens) => {
      const plan = planCompaction({ messages, liveStart, keepRecentTokens });
      if ("reason" in plan) return;
      const summary = messages.slice(0, 2).filter(isSummary);
      const input = inputOf(messages, plan);
      const all = [...plan.toSummarize, ...messages.slice(plan.firstKeptIndex), ...input, ...summary];
      assert.equal(new Set(all).size, all.length);
      assert.equal(all.length, messages.length);
      assert.equal(plan.firstKeptEntryId, messages[plan.firstKeptIndex]?.entryId);
      assert.equal(plan.previousSummary !== undefined, summary.length === 1);
    }),
    { numRuns: runs(500) },
  );
});

test("no cut separates a call from its results", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: 400 }), ({ messages, liveStart }, keepRecentTokens) => {
      const plan = planCompaction({ messages, liveStart, keepRecentTokens });
      if ("reason" in plan) return;
      const context = compacted(messages, plan);
      // The repair may only close calls that are open in the history; it drops and changes nothing.
      const repaired = repairPairs(context);
      assert.deepEqual(
        context.filter((message) => !repaired.includes(message)),
        [],
      );
      assert.equal(isValidSequence(plan.toSummarize), undefined);
    }),
    { numRuns: runs(500) },
  );
});

test("the live turn's input, its newest closed round and its open calls always stay", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: 200 }), ({ messages, liveStart }, keepRecentTokens) => {
      const plan = planCompaction({ messages, liveStart, keepRecentTokens });
      const input = messages[liveStart];
      if ("reason" in plan || !input) return;
      assert.ok(!plan.toSummarize.includes(input));
      const answered = new Set(
        messages.map((message) => (message.role === "toolResult" ? message.toolCallId : "")),
      );
      let closed: AgentMessage | undefined;
      for (const message of messages.slice(liveStart)) {
        if (message.role !== "assistant") continue;
        const open = message.content.some((part) => part.type === "toolCall" && !answered.has(part.id));
        if (open) assert.ok(!plan.toSummarize.includes(message));
        else closed = message;
      }
      if (closed) assert.ok(!plan.toSummarize.includes(closed));
    }),
    { numRuns: runs(500) },
  );
});

test("repeated compaction ends, and each step makes the context shorter or stops", () => {
  fc.assert(
    fc.property(histories, ({ messages, liveStart }) => {
      let context = messages;
      let live = liveStart;
      for (let step = 0; step < 5; step += 1) {
        const plan = planCompaction({ messages: context, liveStart: live, keepRecentTokens: 20, tokens });
        if ("reason" in plan) return;
        const next = compacted(context, plan);
        const kept = context.slice(plan.firstKeptIndex).length;
        assert.ok(next.length <= context.length);
        live =
          live < context.length && plan.splitTurnInputId === context[live]?.entryId
            ? 0
            : next.length - kept + Math.max(0, live - plan.firstKeptIndex);
        context = next;
        assert.ok(step < 2, "a third compaction found something to summarize");
      }
    }),
  );
});

test("a cut is between turns, or inside the newest one, whose input then stays", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: 400 }), ({ messages, liveStart }, keepRecentTokens) => {
      const plan = planCompaction({ messages, liveStart, keepRecentTokens });
      if ("reason" in plan) return;
      const { firstKeptIndex: cut, splitTurnInputId: inputId } = plan;
      const starts = messages.flatMap((message, index) =>
        message.role === "user" && !isSummary(message) ? [index] : [],
      );
      assert.equal(starts.includes(cut), inputId === undefined && plan.splitTurnMessages === 0);
      if (inputId === undefined) return;
      // No turn begins between the cut and the live turn: the split turn is the newest.
      const newest = starts.filter((index) => index < cut).at(-1) ?? 0;
      assert.equal(messages[newest]?.entryId, inputId);
      assert.ok(starts.every((index) => index <= cut || index === liveStart));
      assert.ok(plan.toSummarize.every((message) => message.entryId !== inputId));
      assert.ok(plan.splitTurnMessages <= plan.toSummarize.length);
    }),
    { numRuns: runs(500) },
  );
});

test("a summary precedes all that it does not cover: it follows an input only with rounds of its turn (finding B3)", () => {
  const sizes = fc.record({
    keep: fc.integer({ min: 0, max: 400 }),
    above: fc.integer({ min: 0, max: 800 }),
  });
  fc.assert(
    fc.property(histories, sizes, ({ messages, liveStart }, { keep, above }) => {
      const plan = planCompaction({ messages, liveStart, keepRecentTokens: keep, splitsAbove: above });
      if ("reason" in plan) return;
      const place = new Map(messages.map((message, index) => [message.entryId, index]));
      const placeOf = (message: AgentMessage | undefined): number => place.get(message?.entryId) ?? -1;
      const newest = placeOf(plan.toSummarize.at(-1));
      assert.ok(newest < plan.firstKeptIndex);
      if (plan.splitTurnInputId === undefined) return;
      assert.ok(plan.splitTurnMessages > 0, "a split that takes nothing of its turn");
      assert.ok(newest > placeOf(messages.find(({ entryId }) => entryId === plan.splitTurnInputId)));
    }),
    { numRuns: FULL ? 20_000 : 500 },
  );
});

test("a forced compaction summarizes older turns and keeps the rounds of a newest turn that fits (finding B3)", () => {
  const messages = numbered([user("1"), assistant("a"), user("2"), assistant("b"), user("3"), ...rounds(4)]);
  // The newest turn is more than half of the context.
  const forced = planned({ messages, liveStart: messages.length, keepRecentTokens: 60, splitsAbove: 100 });
  assert.equal(forced.firstKeptEntryId, "e4");
  assert.equal(forced.splitTurnInputId, undefined);
  const live = planned({ messages, liveStart: 4, keepRecentTokens: 60, splitsAbove: 100 });
  assert.equal(live.firstKeptEntryId, "e4");
  const alone = planned({
    messages: messages.slice(4),
    liveStart: 0,
    keepRecentTokens: 60,
    splitsAbove: 100,
  });
  assert.equal(alone.splitTurnInputId, "e4");
  assert.ok(alone.splitTurnMessages > 0);
});

test("a newest turn of one large input and its answer stays whole after the summary (finding B3)", () => {
  const messages = numbered([
    user("1"),
    assistant("a"),
    user("2"),
    assistant("b"),
    user("3"),
    assistant("c"),
  ]);
  const plan = planned({ messages, liveStart: messages.length, keepRecentTokens: 10 });
  assert.equal(plan.firstKeptEntryId, "e4");
  assert.equal(plan.splitTurnInputId, undefined);
  assert.deepEqual(plan.toSummarize, messages.slice(0, 4));
});

test("also in a damaged context a result stays with the newest call before it that has its id", () => {
  fc.assert(
    fc.property(damaged, fc.nat({ max: 24 }), fc.integer({ min: 0, max: 200 }), (broken, at, keep) => {
      const messages = numbered(broken);
      const liveStart = Math.min(at, messages.length);
      const plan = planCompaction({ messages, liveStart, keepRecentTokens: keep, tokens });
      if ("reason" in plan) return;
      const newest = new Map<string, number>();
      for (const [index, message] of messages.entries()) {
        if (message.role === "assistant") {
          for (const part of message.content) if (part.type === "toolCall") newest.set(part.id, index);
        }
        if (message.role !== "toolResult" || index < plan.firstKeptIndex) continue;
        assert.ok((newest.get(message.toolCallId) ?? index) >= plan.firstKeptIndex);
      }
    }),
    { numRuns: runs(500) },
  );
});

test("a cut is before the oldest turn that fits", () => {
  const messages = numbered([
    user("1"),
    assistant("a"),
    user("2"),
    assistant("b"),
    user("3"),
    assistant("c"),
    user("4"),
  ]);
  const plan = planned({ messages, liveStart: 6, keepRecentTokens: 50 });
  assert.equal(plan.firstKeptEntryId, "e2");
  assert.equal(plan.tokensBefore, 70);
  assert.deepEqual(plan.toSummarize, messages.slice(0, 2));
});

test("a newest turn larger than the kept tokens is cut between its rounds, and its input stays", () => {
  const messages = numbered([
    user("1"),
    assistant("a"),
    user("2"),
    ...rounds(5),
    assistant("done"),
    user("3"),
  ]);
  const plan = planned({ messages, liveStart: messages.length - 1, keepRecentTokens: 50 });
  assert.equal(plan.firstKeptIndex, 11);
  assert.equal(messages[11]?.role, "assistant");
  assert.equal(plan.splitTurnInputId, "e2");
  assert.equal(plan.splitTurnMessages, 8);
  assert.deepEqual(plan.toSummarize, [...messages.slice(0, 2), ...messages.slice(3, 11)]);
});

test("a live turn that alone exceeds its share is split: input and newest rounds stay", () => {
  const messages = numbered([user("old"), assistant("a"), user("input"), ...rounds(10)]);
  const plan = planned({ messages, liveStart: 2, keepRecentTokens: 70 });
  assert.equal(plan.splitTurnInputId, "e2");
  assert.equal(plan.firstKeptIndex, messages.length - 6);
  assert.ok(plan.toSummarize.includes(messages[0] as AgentMessage));
  assert.ok(!plan.toSummarize.includes(messages[2] as AgentMessage));
});

test("a split live turn is split again after the summary that follows its input", () => {
  const messages = numbered([user("input"), user(renderSummary("the first rounds")), ...rounds(10)]);
  const plan = planned({ messages, liveStart: 0, keepRecentTokens: 70 });
  assert.equal(plan.splitTurnInputId, "e0");
  assert.equal(plan.previousSummary, "the first rounds");
  assert.deepEqual(plan.toSummarize, messages.slice(2, plan.firstKeptIndex));
});

test("the input of a split turn is summarized with the rest once the turn has ended", () => {
  const messages = numbered([
    user("input"),
    user(renderSummary("rounds")),
    ...rounds(4),
    user("next"),
    assistant("b"),
    user("live"),
  ]);
  const plan = planned({ messages, liveStart: messages.length - 1, keepRecentTokens: 30 });
  assert.equal(plan.toSummarize[0], messages[0]);
  assert.equal(plan.firstKeptIndex, messages.length - 3);
});

test("a closed turn that was split before is split again after its input", () => {
  const messages = numbered([
    user("input"),
    user(renderSummary("the first rounds")),
    ...rounds(10),
    user("live"),
  ]);
  const plan = planned({ messages, liveStart: messages.length - 1, keepRecentTokens: 70 });
  assert.equal(plan.splitTurnInputId, "e0");
  assert.equal(plan.splitTurnMessages, plan.toSummarize.length);
  assert.deepEqual(plan.toSummarize, messages.slice(2, plan.firstKeptIndex));
});

test("a fragment begins no turn and is not summarized", () => {
  const messages = numbered([
    user("1"),
    assistant("a"),
    user("2"),
    ...rounds(1),
    user("note"),
    ...rounds(1, 5),
  ]);
  const fragments = new Set(["e5"]);
  const plan = planned({ messages, liveStart: messages.length, keepRecentTokens: 30, fragments });
  assert.equal(plan.splitTurnInputId, "e2");
  assert.equal(plan.firstKeptEntryId, "e6");
  assert.deepEqual(plan.toSummarize, [...messages.slice(0, 2), ...messages.slice(3, 5)]);
});

test("a live turn that fits its share stays whole, and so does one of a single round", () => {
  const fits = numbered([user("old"), assistant("a"), user("input"), ...rounds(2)]);
  assert.equal(planned({ messages: fits, liveStart: 2, keepRecentTokens: 60 }).firstKeptIndex, 2);
  const single = numbered([user("old"), assistant("a"), user("input"), ...rounds(1)]);
  assert.equal(planned({ messages: single, liveStart: 2, keepRecentTokens: 10 }).firstKeptIndex, 2);
});

test("a context with only a summary and verbatim messages gives a reason instead of a plan", () => {
  const contexts: [AgentMessage[], number][] = [
    [[], 0],
    [numbered([user("input")]), 0],
    [numbered([user(renderSummary("before")), user("1"), assistant("a"), user("live")]), 3],
    [numbered([user("split input"), user(renderSummary("before")), assistant("a"), user("live")]), 3],
    [
      numbered([user("split input"), user(renderSummary("before")), user("1"), assistant("a"), user("live")]),
      4,
    ],
  ];
  for (const [messages, liveStart] of contexts) {
    const plan = planCompaction({ messages, liveStart, keepRecentTokens: 1_000, tokens });
    assert.ok("reason" in plan && plan.reason.startsWith("There is nothing to compact"));
  }
});

test("a message without an entry id is never the first kept one", () => {
  const messages: AgentMessage[] = [
    user("1", "e0"),
    assistant("a", [], "e1"),
    user("volatile"),
    user("live", "e3"),
  ];
  const plan = planned({ messages, liveStart: 3, keepRecentTokens: 20 });
  assert.equal(plan.firstKeptEntryId, "e3");
});
