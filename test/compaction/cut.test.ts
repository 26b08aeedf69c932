import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkCut } from "../../packages/core/src/compaction/cut-check.ts";
import { repairPairs } from "../../packages/core/src/compaction/tool-pairing.ts";
import { planCompaction } from "../../packages/core/src/compaction/compaction-plan.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { renderSummary } from "../../packages/contract/src/engine/summary.ts";
import { assistant, call, damaged, histories, numbered, result, rounds, user } from "./histories.ts";
import { runs } from "../runner/short-form.ts";

function reasonOf(messages: AgentMessage[], liveStart: number, firstKeptEntryId: string): string {
  const cut = checkCut({ messages, liveStart, firstKeptEntryId });
  return "reason" in cut ? cut.reason : "";
}

test("a cut that the plan makes is always allowed, at the same place and with the same split turn", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 0, max: 400 }), ({ messages, liveStart }, keepRecentTokens) => {
      const plan = planCompaction({ messages, liveStart, keepRecentTokens });
      if ("reason" in plan) return;
      const cut = checkCut({ messages, liveStart, firstKeptEntryId: plan.firstKeptEntryId });
      assert.ok(!("reason" in cut), "reason" in cut ? cut.reason : "");
      assert.equal(cut.index, plan.firstKeptIndex);
      assert.equal(cut.splitTurnInputId, plan.splitTurnInputId);
    }),
    { numRuns: runs(500) },
  );
});

test("an allowed cut leaves calls and results together, and the live turn's input, tail and open calls", () => {
  fc.assert(
    fc.property(histories, ({ messages, liveStart }) => {
      for (const { entryId = "" } of messages) {
        const cut = checkCut({ messages, liveStart, firstKeptEntryId: entryId });
        if ("reason" in cut) continue;
        const kept = messages.slice(cut.index);
        const input = messages.find((message) => message.entryId === cut.splitTurnInputId);
        const context = [...(input ? [input] : []), user(renderSummary("s"), "s"), ...kept];
        const repaired = repairPairs(context);
        assert.deepEqual(
          context.filter((message) => !repaired.includes(message)),
          [],
        );
        const live = messages[liveStart];
        if (live) assert.ok(kept.includes(live) || input === live);
        const open = new Set(openCalls(messages));
        assert.ok(messages.slice(0, cut.index).every((message) => !open.has(message)));
      }
    }),
    { numRuns: runs(300) },
  );
});

/** Answers with a call that has no result. */
function openCalls(messages: AgentMessage[]): AgentMessage[] {
  const answered = new Set(messages.map((item) => (item.role === "toolResult" ? item.toolCallId : "")));
  return messages.filter(
    (item) =>
      item.role === "assistant" &&
      item.content.some((part) => part.type === "toolCall" && !answered.has(part.id)),
  );
}

test("no allowed cut separates a result from the newest call with its id, however damaged the context", () => {
  fc.assert(
    fc.property(damaged, (broken) => {
      const messages = numbered(broken);
      for (const { entryId = "" } of messages) {
        const cut = checkCut({ messages, liveStart: messages.length, firstKeptEntryId: entryId });
        if ("reason" in cut) continue;
        const before = new Set<string>();
        const kept = new Set<string>();
        for (const [index, message] of messages.entries()) {
          if (message.role === "assistant") {
            for (const part of message.content) {
              if (part.type !== "toolCall") continue;
              before.delete(part.id);
              (index < cut.index ? before : kept).add(part.id);
            }
          } else if (message.role === "toolResult" && index >= cut.index) {
            assert.ok(!before.has(message.toolCallId) || kept.has(message.toolCallId));
          }
        }
      }
    }),
    { numRuns: runs(500) },
  );
});

const TALK = numbered([
  user("1"),
  ...rounds(2),
  assistant("a"),
  user("2"),
  ...rounds(3),
  user("live"),
  ...rounds(3, 10),
]);
const LIVE = 13;

test("a cut between turns is allowed and splits none", () => {
  assert.deepEqual(checkCut({ messages: TALK, liveStart: LIVE, firstKeptEntryId: "e6" }), { index: 6 });
  assert.deepEqual(checkCut({ messages: TALK, liveStart: LIVE, firstKeptEntryId: "e13" }), { index: 13 });
});

test("a cut inside a turn names the input that has to stay", () => {
  const closed = checkCut({ messages: TALK, liveStart: LIVE, firstKeptEntryId: "e9" });
  assert.deepEqual(closed, { index: 9, splitTurnInputId: "e6" });
  const live = checkCut({ messages: TALK, liveStart: LIVE, firstKeptEntryId: "e18" });
  assert.deepEqual(live, { index: 18, splitTurnInputId: "e13" });
});

test("a cut right after a turn's input moves before that input (finding B3)", () => {
  const closed = checkCut({ messages: TALK, liveStart: LIVE, firstKeptEntryId: "e7" });
  assert.deepEqual(closed, { index: 6, firstKeptEntryId: "e6" });
  const live = checkCut({ messages: TALK, liveStart: LIVE, firstKeptEntryId: "e14" });
  assert.deepEqual(live, { index: 13, firstKeptEntryId: "e13" });
  assert.match(reasonOf(TALK, LIVE, "e1"), /nothing is before it/);
});

test("refused: an unknown entry, the first message, a result, the part of a round", () => {
  assert.match(reasonOf(TALK, LIVE, "nowhere"), /no such entry/);
  assert.match(reasonOf(TALK, LIVE, "e0"), /nothing is before it/);
  assert.match(reasonOf(TALK, LIVE, "e2"), /a tool's result/);
  const late = numbered([
    user("1"),
    assistant("", [call("a", "shell")]),
    user("wait"),
    result("a", "ok"),
    user("2"),
  ]);
  assert.match(reasonOf(late, 4, "e2"), /separates a tool call from its result/);
});

test("refused: the live turn's newest closed round, its open calls, an input the transcript does not have", () => {
  const open = numbered([
    user("1"),
    ...rounds(3),
    assistant("", [call("x", "shell"), call("y", "shell")]),
    result("x", ""),
  ]);
  assert.deepEqual(checkCut({ messages: open, liveStart: 0, firstKeptEntryId: "e5" }), {
    index: 5,
    splitTurnInputId: "e0",
  });
  assert.match(reasonOf(open, 0, "e7"), /open calls/);
  const text = numbered([user("1"), ...rounds(1), assistant("on it"), user("faster, please")]);
  assert.match(reasonOf(text, 0, "e4"), /newest closed round/);
  const volatile = [user("input"), ...numbered(rounds(3))];
  assert.match(reasonOf(volatile, 0, "e2"), /not in the transcript/);
});

test("two calls with one id in an answer are both open until each has its result", () => {
  const twice = numbered([
    user("1"),
    ...rounds(2),
    assistant("", [call("x", "a"), call("x", "b")]),
    result("x", ""),
  ]);
  assert.match(reasonOf(twice, 0, "e5"), /open calls/);
});

test("refused: messages before the summary, and the summary itself", () => {
  const messages = numbered([user("input"), user(renderSummary("S")), ...rounds(3), user("live")]);
  assert.match(reasonOf(messages, 8, "e0"), /not after the summary/);
  assert.match(reasonOf(messages, 8, "e1"), /not after the summary/);
  // The rest of a split turn keeps its input, also when the turn is split again or only its summary is new.
  assert.deepEqual(checkCut({ messages, liveStart: 8, firstKeptEntryId: "e2" }), {
    index: 2,
    splitTurnInputId: "e0",
  });
  assert.deepEqual(checkCut({ messages, liveStart: 8, firstKeptEntryId: "e4" }), {
    index: 4,
    splitTurnInputId: "e0",
  });
});

test("a fragment is not an input: the turn around it keeps its own input", () => {
  const messages = numbered([
    user("old"),
    assistant("a"),
    user("input"),
    ...rounds(1),
    user("note"),
    ...rounds(1, 5),
  ]);
  const cut = checkCut({
    messages,
    liveStart: messages.length,
    firstKeptEntryId: "e6",
    fragments: new Set(["e5"]),
  });
  assert.deepEqual(cut, { index: 6, splitTurnInputId: "e2" });
});
