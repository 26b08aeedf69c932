import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isValidSequence, repairPairs } from "../../src/compaction/pairing.ts";
import { planCompaction, type CompactionPlan } from "../../src/compaction/plan.ts";
import type { AgentMessage } from "../../src/contract/message.ts";
import { readSummary, renderSummary } from "../../src/contract/summary.ts";
import { assistant, call, histories, result, user } from "./histories.ts";

const tokens = (): number => 10;
const isSummary = (message: AgentMessage): boolean =>
  typeof message.content === "string" && readSummary(message.content) !== undefined;

/** The context after a compaction, as the store gives it. */
function compacted(messages: AgentMessage[], liveStart: number, plan: CompactionPlan): AgentMessage[] {
  const input = plan.splitTurnInputId === undefined ? [] : messages.slice(liveStart, liveStart + 1);
  return [...input, user(renderSummary("short"), "s"), ...messages.slice(plan.firstKeptIndex)];
}

function numbered(messages: AgentMessage[]): AgentMessage[] {
  return messages.map((message, index) => ({ ...message, entryId: `e${index}` }));
}

function rounds(count: number, from = 0): AgentMessage[] {
  return Array.from({ length: count }, (_, index) => `r${from + index}`).flatMap((id) => [
    assistant("", [call(id, "shell")]),
    result(id, "ok"),
  ]);
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
      const live = plan.splitTurnInputId === undefined ? [] : [messages[liveStart]];
      const summary = messages.slice(0, 2).filter(isSummary);
      const all = [...plan.toSummarize, ...messages.slice(plan.firstKeptIndex), ...live, ...summary];
      assert.equal(new Set(all).size, all.length);
      assert.equal(all.length, messages.length);
      assert.equal(plan.firstKeptEntryId, messages[plan.firstKeptIndex]?.entryId);
      assert.equal(plan.previousSummary !== undefined, summary.length === 1);
    }),
    { numRuns: 500 },
  );
});

test("no cut separates a call from its results", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: 400 }), ({ messages, liveStart }, keepRecentTokens) => {
      const plan = planCompaction({ messages, liveStart, keepRecentTokens });
      if ("reason" in plan) return;
      const context = compacted(messages, liveStart, plan);
      // A repair may only close the calls that are open in the history; it drops and changes nothing.
      const repaired = repairPairs(context);
      assert.deepEqual(
        context.filter((message) => !repaired.includes(message)),
        [],
      );
      assert.equal(isValidSequence(plan.toSummarize), undefined);
    }),
    { numRuns: 500 },
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
    { numRuns: 500 },
  );
});

test("compacting again and again ends, and each step makes the context shorter or stops", () => {
  fc.assert(
    fc.property(histories, ({ messages, liveStart }) => {
      let context = messages;
      let live = liveStart;
      for (let step = 0; step < 5; step += 1) {
        const plan = planCompaction({ messages: context, liveStart: live, keepRecentTokens: 20, tokens });
        if ("reason" in plan) return;
        const next = compacted(context, live, plan);
        const kept = context.slice(plan.firstKeptIndex).length;
        assert.ok(next.length <= context.length);
        live =
          plan.splitTurnInputId !== undefined
            ? 0
            : next.length - kept + Math.max(0, live - plan.firstKeptIndex);
        context = next;
        assert.ok(step < 2, "a third compaction found something to summarize");
      }
    }),
  );
});

test("a cut falls before the oldest turn that fits", () => {
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

test("a newest turn that is larger than what is kept is cut between its rounds", () => {
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
  assert.equal(plan.splitTurnInputId, undefined);
});

test("a live turn that alone exceeds its share is split: input and newest rounds stay", () => {
  const messages = numbered([user("old"), assistant("a"), user("input"), ...rounds(10)]);
  const plan = planned({ messages, liveStart: 2, keepRecentTokens: 70 });
  assert.equal(plan.splitTurnInputId, "e2");
  assert.equal(plan.firstKeptIndex, messages.length - 6);
  assert.ok(plan.toSummarize.includes(messages[0] as AgentMessage));
  assert.ok(!plan.toSummarize.includes(messages[2] as AgentMessage));
});

test("a split live turn is split again after the summary that stands behind its input", () => {
  const messages = numbered([user("input"), user(renderSummary("the first rounds")), ...rounds(10)]);
  const plan = planned({ messages, liveStart: 0, keepRecentTokens: 70 });
  assert.equal(plan.splitTurnInputId, "e0");
  assert.equal(plan.previousSummary, "the first rounds");
  assert.deepEqual(plan.toSummarize, messages.slice(2, plan.firstKeptIndex));
});

test("after a split turn has ended its input is summarized with the rest", () => {
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

test("a live turn that fits its share is left whole, and one of a single round too", () => {
  const fits = numbered([user("old"), assistant("a"), user("input"), ...rounds(2)]);
  assert.equal(planned({ messages: fits, liveStart: 2, keepRecentTokens: 60 }).firstKeptIndex, 2);
  const single = numbered([user("old"), assistant("a"), user("input"), ...rounds(1)]);
  assert.equal(planned({ messages: single, liveStart: 2, keepRecentTokens: 10 }).firstKeptIndex, 2);
});

test("nothing but a summary and what stays verbatim is a reason, not a plan", () => {
  const contexts: [AgentMessage[], number][] = [
    [[], 0],
    [numbered([user("input")]), 0],
    [numbered([user(renderSummary("before")), user("1"), assistant("a"), user("live")]), 3],
    [numbered([user("split input"), user(renderSummary("before")), assistant("a"), user("live")]), 3],
  ];
  for (const [messages, liveStart] of contexts) {
    const plan = planCompaction({ messages, liveStart, keepRecentTokens: 1_000, tokens });
    assert.ok("reason" in plan && plan.reason.startsWith("There is nothing to compact"));
  }
});

test("a message the store does not know is never the first kept one", () => {
  const messages: AgentMessage[] = [
    user("1", "e0"),
    assistant("a", [], "e1"),
    user("volatile"),
    user("live", "e3"),
  ];
  const plan = planned({ messages, liveStart: 3, keepRecentTokens: 20 });
  assert.equal(plan.firstKeptEntryId, "e3");
});
