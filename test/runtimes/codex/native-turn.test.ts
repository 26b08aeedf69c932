import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { HarnessTurn } from "../../../packages/contract/src/harness/harness.ts";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import { CodexNativeTurn } from "../../../packages/runtimes/src/codex/codex-native-turn.ts";

/** A turn on a thread `t`, with its events. */
function turnOf(more: Partial<HarnessTurn> = {}): { native: CodexNativeTurn; events: TurnEvent[] } {
  const events: TurnEvent[] = [];
  const turn: Partial<HarnessTurn> = {
    model: { provider: "p", id: "m" } as HarnessTurn["model"],
    engine: { id: "e", governs: true, ownsCompaction: true },
    maxSteps: 10,
    context: { receipt: () => undefined } as unknown as HarnessTurn["context"],
    io: {
      emit: (event) => {
        events.push(event);
        return Promise.resolve();
      },
    } as HarnessTurn["io"],
    ...more,
  };
  const native = new CodexNativeTurn(turn as HarnessTurn, {
    tail: undefined,
    thread: { id: "t", rollout: undefined, tokens: 40, sandbox: undefined, inUse: true },
    onMessage: () => undefined,
    onCompacted: () => undefined,
    inputsSent: () => Promise.resolve(),
  });
  native.nativeTurnId = "turn";
  return { native, events };
}

/** Events for notifications; Codex offers its plan tool to few models, so the program is not used here. */
function eventsOf(notifications: readonly (readonly [string, object])[]): TurnEvent[] {
  const { native, events } = turnOf();
  for (const [method, params] of notifications) native.notification(method, { turnId: "turn", ...params });
  return events;
}

test("a plan is emitted whole, with the state of each step; an unknown state counts as pending", () => {
  const plan = [
    { step: "Look", status: "completed" },
    { step: "Write", status: "inProgress" },
    { step: "Rest", status: "someday" },
  ];
  assert.deepEqual(eventsOf([["turn/plan/updated", { explanation: "Three steps.", plan }]]), [
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
  assert.deepEqual(eventsOf([["turn/plan/updated", { explanation: null, plan: "?" }]]), [
    { type: "plan.updated", steps: [] },
  ]);
});

test("a notification of another turn emits nothing", () => {
  assert.deepEqual(eventsOf([["turn/diff/updated", { turnId: "other", diff: "+a" }]]), []);
  assert.deepEqual(eventsOf([["turn/diff/updated", { diff: "+a" }]]), [{ type: "diff.updated", diff: "+a" }]);
});

test("a compaction's own text and answers are not the turn's", () => {
  const item = { type: "contextCompaction", id: "c" };
  const message = { type: "message", id: "m", role: "assistant", content: [{ text: "SUMMARY" }] };
  const events = eventsOf([
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
  assert.ok(done?.type === "compaction.completed" && done.tokensAfter === 9 && done.lane === "harness");
});

test("the answer of a host tool is emitted unchanged, with its images and facts", async () => {
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
  // A subagent of Codex may use the same id.
  await native.request("item/tool/call", { threadId: "of an agent", ...call, callId: "c2" });
  for (const id of ["c1", "c2"]) {
    const item = { type: "dynamicToolCall", id, tool: "look", success: true, contentItems };
    native.notification("item/completed", { turnId: "turn", item });
  }
  const outcomes = events.map((event) => event.type === "tool.completed" && event.outcome);
  assert.deepEqual(outcomes, [outcome, { content: [{ type: "text", text: "a picture\n" }], isError: false }]);
});
