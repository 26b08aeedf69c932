import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../../src/contract/message.ts";
import {
  closedBinding,
  openBinding,
  standingOf,
  unassembledStanding,
  type ThreadIdentity,
} from "../../../src/runtimes/codex/thread.ts";
import { extended, NOTHING_HELD } from "../../../src/native/held.ts";

const IDENTITY: ThreadIdentity = {
  epoch: "e1",
  fingerprint: "f1",
  tools: "t",
  instructions: "i",
  model: "m",
};

function said(...words: string[]): AgentMessage[] {
  return words.map((word, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: [{ type: "text", text: word }],
  }));
}

const BOUND = closedBinding("thread", IDENTITY, { held: extended(NOTHING_HELD, said("one", "two")) });

test("a thread goes on with what it lacks, such as another runtime's turn", () => {
  const standing = standingOf(BOUND, IDENTITY, said("one", "two", "three", "four"));
  assert.ok(standing.bound);
  assert.deepEqual(standing.delta, said("one", "two", "three", "four").slice(2));
  assert.deepEqual(standing.held, extended(NOTHING_HELD, said("one", "two", "three", "four")));
});

test("what is held is the same whether it was told at once or turn by turn", () => {
  const all = said("one", "two", "three", "four", "five");
  assert.deepEqual(
    extended(extended(NOTHING_HELD, all.slice(0, 2)), all.slice(2)),
    extended(NOTHING_HELD, all),
  );
});

test("ids, times and a trimmed result make no other history; other words do", () => {
  const result = (text: string): AgentMessage => ({
    role: "toolResult",
    toolCallId: "c1",
    toolName: "read",
    content: [{ type: "text", text }],
    isError: false,
  });
  const one = extended(NOTHING_HELD, [...said("one"), result("whole")]);
  const marked = said("one").map((message) => ({ ...message, entryId: "e9", timestamp: 5 }));
  assert.deepEqual(extended(NOTHING_HELD, [...marked, result("tr…ed")]), one);
  assert.notDeepEqual(extended(NOTHING_HELD, [...said("other"), result("whole")]), one);
});

for (const [field, reason] of [
  ["epoch", /epoch/],
  ["fingerprint", /fingerprint/],
  ["tools", /tool catalog/],
  ["instructions", /instructions/],
  ["model", /model/],
] as const)
  test(`another ${field} is a new thread`, () => {
    const standing = standingOf(BOUND, { ...IDENTITY, [field]: "other" }, said("one", "two"));
    assert.ok(!standing.bound);
    assert.match(standing.reason, reason);
  });

test("a history that is not what the thread holds, an open turn and an unreadable binding are a new thread", () => {
  assert.equal(standingOf(BOUND, IDENTITY, said("one", "TWO")).bound, false);
  assert.equal(standingOf(BOUND, IDENTITY, said("one")).bound, false);
  assert.equal(standingOf(openBinding("thread", IDENTITY, "turn"), IDENTITY, []).bound, false);
  assert.equal(standingOf({ nativeId: "thread", state: { held: 3 } }, IDENTITY, []).bound, false);
  assert.equal(standingOf(undefined, IDENTITY, []).bound, false);
});

test("where the engine could not be asked a bound thread goes on as it is, unless tools or model are others", () => {
  const standing = unassembledStanding(BOUND, { ...IDENTITY, epoch: undefined, instructions: "plain" });
  assert.ok(standing.bound);
  assert.deepEqual(standing.delta, []);
  assert.equal(standing.identity.epoch, "e1");
  assert.equal(unassembledStanding(BOUND, { ...IDENTITY, tools: "other" }).bound, false);
  assert.equal(unassembledStanding(undefined, IDENTITY).bound, false);
});

test("where Codex keeps the context a thread lacks what was said since, and a place that is gone is a new thread", () => {
  const history = said("one", "two", "three", "four").map((message, index) => ({
    ...message,
    entryId: `e${index}`,
  }));
  const kept = closedBinding("thread", IDENTITY, { anchor: "e1", isCompacted: true });
  const standing = standingOf(kept, IDENTITY, history, true);
  assert.ok(standing.bound && standing.isCompacted);
  assert.deepEqual(standing.delta, history.slice(2));
  assert.equal(standingOf(kept, IDENTITY, history.slice(2), true).bound, false);
  assert.equal(
    standingOf(kept, IDENTITY, history).bound,
    false,
    "an engine that governs wants to know what is held",
  );
});
