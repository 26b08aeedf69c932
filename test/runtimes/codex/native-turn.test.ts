import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "../../../src/contract/events.ts";
import type { HarnessTurn } from "../../../src/contract/harness.ts";
import { NativeTurn } from "../../../src/runtimes/codex/native-turn.ts";

/** What becomes of notifications; Codex offers its plan tool to few models, so the program is not asked here. */
function told(notifications: readonly (readonly [string, object])[]): TurnEvent[] {
  const events: TurnEvent[] = [];
  const turn: Partial<HarnessTurn> = {
    model: { provider: "p", id: "m" } as HarnessTurn["model"],
    engine: { id: "e", governs: true, ownsCompaction: true },
    maxSteps: 10,
    receipt: () => undefined,
    emit: (event) => {
      events.push(event);
      return Promise.resolve();
    },
  };
  const native = new NativeTurn(turn as HarnessTurn, {
    tail: undefined,
    thread: { id: "t", rollout: undefined, tokens: 40, sandbox: undefined, inUse: true },
    onMessage: () => undefined,
    onCompacted: () => undefined,
  });
  native.nativeTurnId = "turn";
  for (const [method, params] of notifications) native.notification(method, { turnId: "turn", ...params });
  return events;
}

test("a plan is told whole, with the state of each step; what is not known counts as pending", () => {
  const plan = [
    { step: "Look", status: "completed" },
    { step: "Write", status: "inProgress" },
    { step: "Rest", status: "someday" },
  ];
  assert.deepEqual(told([["turn/plan/updated", { explanation: "Three steps.", plan }]]), [
    {
      type: "plan.updated",
      explanation: "Three steps.",
      steps: [
        { step: "Look", status: "completed" },
        { step: "Write", status: "inProgress" },
        { step: "Rest", status: "pending" },
      ],
    },
  ]);
  assert.deepEqual(told([["turn/plan/updated", { explanation: null, plan: "?" }]]), [
    { type: "plan.updated", steps: [] },
  ]);
});

test("a notification of another turn tells nothing", () => {
  assert.deepEqual(told([["turn/diff/updated", { turnId: "other", diff: "+a" }]]), []);
  assert.deepEqual(told([["turn/diff/updated", { diff: "+a" }]]), [{ type: "diff.updated", diff: "+a" }]);
});

test("a compaction's own words and answers are not the turn's", () => {
  const item = { type: "contextCompaction", id: "c" };
  const message = { type: "message", id: "m", role: "assistant", content: [{ text: "SUMMARY" }] };
  const events = told([
    ["item/started", { item }],
    ["rawResponseItem/completed", { item: message }],
    ["rawResponse/completed", { usage: { inputTokens: 1, outputTokens: 1 } }],
    ["thread/tokenUsage/updated", { tokenUsage: { last: { totalTokens: 9 } } }],
    ["item/completed", { item }],
  ]);
  assert.deepEqual(
    events.map((event) => event.type),
    ["compaction.started", "compaction.completed", "notice"],
  );
  const [started, done] = events;
  assert.ok(started?.type === "compaction.started" && started.tokensBefore === 40);
  assert.ok(done?.type === "compaction.completed" && done.tokensAfter === 9 && done.lane === "native");
});
