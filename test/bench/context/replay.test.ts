import assert from "node:assert/strict";
import { test } from "node:test";
import { readSession, type Line } from "../../../bench/context/replay/claude-code.ts";
import { asOneAgent, growthOf, outputOf } from "../../../packages/replay/src/recorded-session.ts";
import { readDialogues } from "../../../bench/context/replay/tau-bench.ts";
import { isValidSequence } from "../../../packages/core/src/compaction/tool-pairing.ts";
import { messageTokens } from "../../../packages/core/src/tokens/message-tokens.ts";

let clock = 0;

function line(fields: Line): Line {
  clock += 1_000;
  return { timestamp: new Date(clock).toISOString(), ...fields };
}

function input(text: string, more: Partial<Line> = {}): Line {
  return line({ type: "user", message: { content: text }, ...more });
}

type Part = NonNullable<Exclude<NonNullable<Line["message"]>["content"], string>>[number];

function answer(id: string, part: Part, context = 100): Line {
  const usage = { input_tokens: 10, cache_read_input_tokens: context - 10, output_tokens: 5 };
  return line({ type: "assistant", message: { id, content: [part], usage } });
}

function call(id: string): Part {
  return { type: "tool_use", id, name: "Read", input: { path: `/${id}` } };
}

function result(id: string): Line {
  const part = { type: "tool_result", tool_use_id: id, content: `result of ${id}` };
  return line({ type: "user", message: { content: [part] } });
}

test("the parts of one answer become one message, followed by its results in the order of its calls", () => {
  const session = readSession("s", [
    input("begin"),
    answer("m1", { type: "thinking", thinking: "hm" }),
    answer("m1", call("a")),
    result("a"),
    answer("m1", call("b")),
    answer("m1", call("c")),
    result("c"),
    result("b"),
    answer("m2", { type: "text", text: "done" }),
  ]);
  assert.deepEqual(
    session.messages.map((message) => [message.role, message.entryId]),
    [
      ["user", "e0000000"],
      ["assistant", "e0000001"],
      ["toolResult", "e0000002"],
      ["toolResult", "e0000003"],
      ["toolResult", "e0000004"],
      ["assistant", "e0000005"],
    ],
  );
  const results = session.messages.flatMap((message) =>
    message.role === "toolResult" ? [`${message.toolCallId} ${message.toolName}`] : [],
  );
  assert.deepEqual(results, ["a Read", "b Read", "c Read"]);
  assert.equal(isValidSequence(session.messages), undefined);
  assert.deepEqual(
    session.calls.map(({ end, liveStart, turnId }) => ({ end, liveStart, turnId })),
    [
      { end: 1, liveStart: 0, turnId: "t1" },
      { end: 5, liveStart: 0, turnId: "t1" },
    ],
  );
  const [first] = session.calls;
  assert.equal(first && outputOf(session, first).content.length, 4);
});

test("a summary of the recorded program is not a message, and the turn continues after it", () => {
  const session = readSession("s", [
    input("begin"),
    answer("m1", call("a")),
    result("a"),
    input("This session is being continued", { isCompactSummary: true }),
    input("a caveat", { isMeta: true }),
    answer("m2", { type: "text", text: "on" }),
    input("next"),
    answer("m3", { type: "text", text: "done" }),
  ]);
  assert.deepEqual(
    session.messages.map(({ role }) => role),
    ["user", "assistant", "toolResult", "assistant", "user", "assistant"],
  );
  assert.deepEqual(
    session.calls.map(({ turnId, liveStart }) => `${turnId} ${liveStart}`),
    ["t1 0", "t1 0", "t2 4"],
  );
});

test("a user's message in the middle of the work precedes the next call, in the same turn", () => {
  const queue = (operation: string, content?: string): Line =>
    line({ type: "queue-operation", operation, ...(content === undefined ? {} : { content }) });
  const session = readSession("s", [
    input("begin"),
    answer("m1", call("a")),
    queue("enqueue", "also check the tests"),
    queue("remove"),
    result("a"),
    queue("enqueue", "later"),
    answer("m2", { type: "text", text: "done" }),
    input("later"),
    answer("m3", { type: "text", text: "bye" }),
  ]);
  const words = session.messages.map((message) =>
    message.role === "user"
      ? typeof message.content === "string"
        ? message.content
        : "input"
      : message.role,
  );
  assert.deepEqual(words, [
    "input",
    "assistant",
    "toolResult",
    "also check the tests",
    "assistant",
    "input",
    "assistant",
  ]);
  assert.deepEqual(
    session.calls.map(({ turnId }) => turnId),
    ["t1", "t1", "t2"],
  );
});

test("estimates are corrected by the growth of recorded contexts; one that shrank does not count", () => {
  const text = "some words of the agent and more of them ".repeat(20);
  const session = readSession("s", [
    input("begin"),
    answer("m1", { type: "text", text }, 1_000),
    input(text),
    answer("m2", { type: "text", text }, 2_000),
    input(text),
    answer("m3", { type: "text", text }, 500),
  ]);
  const estimated = session.messages.slice(1, 3).reduce((sum, message) => sum + messageTokens(message), 0);
  assert.deepEqual(growthOf(session), { reported: 1_000, estimated });
  assert.equal(session.factor, 1_000 / estimated);
});

test("several sessions become one history with ids in order and turns of their own", () => {
  const one = readSession("one", [input("a"), answer("m1", { type: "text", text: "b" })]);
  const two = readSession("two", [input("c"), answer("m1", { type: "text", text: "d" })]);
  const all = asOneAgent("all", [one, two]);
  assert.deepEqual(
    all.messages.map(({ entryId }) => entryId),
    ["e0000000", "e0000001", "e0000002", "e0000003"],
  );
  assert.deepEqual(
    all.calls.map(({ index, end, liveStart, turnId }) => [index, end, liveStart, turnId]),
    [
      [0, 1, 0, "s0-t1"],
      [1, 3, 2, "s1-t1"],
    ],
  );
});

test("dialogues in sequence are a valid history, also where one ends with an open call", () => {
  const tool = { id: "same", function: { name: "look", arguments: '{"id":1}' } };
  const traj = [
    { role: "system", content: "rules" },
    { role: "user", content: "hello" },
    { role: "assistant", content: null, tool_calls: [tool] },
    { role: "tool", content: "found" },
    { role: "assistant", content: null, tool_calls: [tool] },
  ] as const;
  const dialogue = { task_id: 1, trial: 0, traj: traj.map((said) => structuredClone(said)) as never };
  const session = readDialogues("d", [dialogue, dialogue]);
  assert.equal(session.calls.length, 4);
  assert.equal(isValidSequence(session.messages.slice(0, -1)), undefined);
});
