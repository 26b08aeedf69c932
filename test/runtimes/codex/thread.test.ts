import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import {
  closedBinding,
  openBinding,
  checkCodexBinding,
  checkUnassembled,
  type ThreadIdentity,
} from "../../../packages/runtimes/src/codex/codex-thread.ts";
import { extended, NOTHING_HELD } from "../../../packages/runtimes/src/thread/thread-state.ts";

const IDENTITY: ThreadIdentity = {
  epoch: "e1",
  fingerprint: "f1",
  tools: "t",
  instructions: "i",
  model: "m",
};

function messages(...words: string[]): AgentMessage[] {
  return words.map((word, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: [{ type: "text", text: word }],
  }));
}

const BOUND = closedBinding("thread", IDENTITY, { held: extended(NOTHING_HELD, messages("one", "two")) });

test("a thread continues with what it lacks, such as another runtime's turn", () => {
  const check = checkCodexBinding(BOUND, IDENTITY, messages("one", "two", "three", "four"));
  assert.ok(check.bound);
  assert.deepEqual(check.delta, messages("one", "two", "three", "four").slice(2));
  assert.deepEqual(check.held, extended(NOTHING_HELD, messages("one", "two", "three", "four")));
});

test("the held content is the same whether it was added at once or turn by turn", () => {
  const all = messages("one", "two", "three", "four", "five");
  assert.deepEqual(
    extended(extended(NOTHING_HELD, all.slice(0, 2)), all.slice(2)),
    extended(NOTHING_HELD, all),
  );
});

test("ids, times and a trimmed result do not change a history; other text does", () => {
  const result = (text: string): AgentMessage => ({
    role: "toolResult",
    toolCallId: "c1",
    toolName: "read",
    content: [{ type: "text", text }],
    isError: false,
  });
  const one = extended(NOTHING_HELD, [...messages("one"), result("whole")]);
  const marked = messages("one").map((message) => ({ ...message, entryId: "e9", timestamp: 5 }));
  assert.deepEqual(extended(NOTHING_HELD, [...marked, result("tr…ed")]), one);
  assert.notDeepEqual(extended(NOTHING_HELD, [...messages("other"), result("whole")]), one);
});

for (const [field, reason] of [
  ["epoch", /epoch/],
  ["fingerprint", /fingerprint/],
  ["tools", /tool catalog/],
  ["instructions", /instructions/],
  ["model", /model/],
] as const)
  test(`another ${field} is a new thread`, () => {
    const check = checkCodexBinding(BOUND, { ...IDENTITY, [field]: "other" }, messages("one", "two"));
    assert.ok(!check.bound);
    assert.match(check.reason, reason);
  });

test("a history that differs from the thread's, an open turn and an unreadable binding need a new thread", () => {
  assert.equal(checkCodexBinding(BOUND, IDENTITY, messages("one", "TWO")).bound, false);
  assert.equal(checkCodexBinding(BOUND, IDENTITY, messages("one")).bound, false);
  assert.equal(checkCodexBinding(openBinding("thread", IDENTITY, "turn"), IDENTITY, []).bound, false);
  assert.equal(checkCodexBinding({ nativeId: "thread", state: { held: 3 } }, IDENTITY, []).bound, false);
  assert.equal(checkCodexBinding(undefined, IDENTITY, []).bound, false);
});

test("when the engine could not be called a bound thread continues as it is, unless tools or model differ", () => {
  const check = checkUnassembled(BOUND, { ...IDENTITY, epoch: undefined, instructions: "plain" });
  assert.ok(check.bound);
  assert.deepEqual(check.delta, []);
  assert.equal(check.identity.epoch, "e1");
  assert.equal(checkUnassembled(BOUND, { ...IDENTITY, tools: "other" }).bound, false);
  assert.equal(checkUnassembled(undefined, IDENTITY).bound, false);
});

test("when Codex manages the context a thread lacks the messages since its anchor, and a lost anchor needs a new thread", () => {
  const history = messages("one", "two", "three", "four").map((message, index) => ({
    ...message,
    entryId: `e${index}`,
  }));
  const kept = closedBinding("thread", IDENTITY, { anchor: "e1", isCompacted: true });
  const check = checkCodexBinding(kept, IDENTITY, history, true);
  assert.ok(check.bound && check.isCompacted);
  assert.deepEqual(check.delta, history.slice(2));
  assert.equal(checkCodexBinding(kept, IDENTITY, history.slice(2), true).bound, false);
  assert.equal(
    checkCodexBinding(kept, IDENTITY, history).bound,
    false,
    "an engine that governs wants to know what is held",
  );
});
