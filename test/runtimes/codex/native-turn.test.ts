import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "../../../src/contract/events.ts";
import type { HarnessTurn } from "../../../src/contract/harness.ts";
import type { ToolOutcome } from "../../../src/contract/tool.ts";
import { NativeTurn } from "../../../src/runtimes/codex/native-turn.ts";

/** A turn on a thread `t`, with what it tells. */
function turnOf(more: Partial<HarnessTurn> = {}): { native: NativeTurn; events: TurnEvent[] } {
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
    ...more,
  };
  const native = new NativeTurn(turn as HarnessTurn, {
    tail: undefined,
    thread: { id: "t", rollout: undefined, tokens: 40, sandbox: undefined, inUse: true },
    onMessage: () => undefined,
    onCompacted: () => undefined,
    inputsGiven: () => Promise.resolve(),
  });
  native.nativeTurnId = "turn";
  return { native, events };
}

/** What becomes of notifications; Codex offers its plan tool to few models, so the program is not asked here. */
function told(notifications: readonly (readonly [string, object])[]): TurnEvent[] {
  const { native, events } = turnOf();
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

test("what a tool of the host answered is told as it was, with its images and facts", async () => {
  const outcome: ToolOutcome = {
    content: [
      { type: "text", text: "a picture" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
    isError: false,
    details: { bytes: 3 },
  };
  const tools: Partial<HarnessTurn["tools"]> = { call: () => Promise.resolve(outcome) };
  const { native, events } = turnOf({ tools: tools as HarnessTurn["tools"] });
  const contentItems = [
    { type: "inputText", text: "a picture" },
    { type: "inputImage", imageUrl: "data:image/png;base64,AAAA" },
  ];
  const call = { callId: "c1", tool: "look", arguments: {} };
  const answer = await native.request("item/tool/call", { threadId: "t", ...call });
  assert.deepEqual(answer, { contentItems, success: true });
  // An agent of Codex's own may use the same id.
  await native.request("item/tool/call", { threadId: "of an agent", ...call, callId: "c2" });
  for (const id of ["c1", "c2"]) {
    const item = { type: "dynamicToolCall", id, tool: "look", success: true, contentItems };
    native.notification("item/completed", { turnId: "turn", item });
  }
  const outcomes = events.map((event) => event.type === "tool.completed" && event.outcome);
  assert.deepEqual(outcomes, [outcome, { content: [{ type: "text", text: "a picture\n" }], isError: false }]);
});
