import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isValidSequence, repairPairs } from "../../packages/core/src/compaction/tool-pairing.ts";
import { assistant, call, damaged, histories, result, user } from "./histories.ts";

test("a valid sequence is returned as the same array", () => {
  const messages = [
    user("go"),
    assistant("", [call("1", "shell")]),
    result("1", "done"),
    assistant("finished"),
  ];
  assert.equal(repairPairs(messages), messages);
});

test("a repaired sequence is valid whatever the input, and repairing it again changes nothing", () => {
  fc.assert(
    fc.property(damaged, (messages) => {
      const once = repairPairs(messages);
      assert.equal(isValidSequence(once), undefined);
      assert.equal(repairPairs(once), once);
    }),
  );
});

test("a repair loses no user message, no call and no assistant text", () => {
  fc.assert(
    fc.property(damaged, (messages) => {
      const repaired = repairPairs(messages);
      const users = (list: typeof messages) => list.filter((message) => message.role === "user");
      const calls = (list: typeof messages) =>
        list.flatMap((message) =>
          message.role === "assistant"
            ? message.content.map((part) => (part.type === "text" ? part.text : part.type))
            : [],
        );
      assert.deepEqual(users(repaired), users(messages));
      assert.deepEqual(calls(repaired), calls(messages));
    }),
  );
});

test("histories with open calls are valid once each open call has a result", () => {
  fc.assert(
    fc.property(histories, ({ messages }) => {
      assert.equal(isValidSequence(repairPairs(messages)), undefined);
    }),
  );
});

test("a call of an aborted answer gets an error result right after the message's other results", () => {
  const aborted = {
    ...assistant("", [call("1", "read"), call("2", "shell")]),
    stopReason: "aborted" as const,
  };
  const repaired = repairPairs([user("go"), aborted, result("1", "text"), user("again")]);
  assert.deepEqual(
    repaired.map((message) => message.role),
    ["user", "assistant", "toolResult", "toolResult", "user"],
  );
  assert.deepEqual(repaired[3], {
    role: "toolResult",
    toolCallId: "2",
    toolName: "shell",
    content: [{ type: "text", text: "No result was recorded for this tool call." }],
    isError: true,
  });
});

test("results are in the order of their calls, before a message that came in between", () => {
  const messages = [
    user("go"),
    assistant("", [call("1", "a"), call("2", "b")]),
    result("2", "two"),
    user("also"),
    result("1", "one"),
  ];
  const repaired = repairPairs(messages);
  assert.deepEqual(repaired, [messages[0], messages[1], messages[4], messages[2], messages[3]]);
});

test("an orphan result, a second result of a call and an empty answer are dropped", () => {
  const kept = [user("go"), assistant("", [call("1", "a")]), result("1", "one")];
  const repaired = repairPairs([
    result("0", "orphan"),
    ...kept,
    result("1", "again"),
    assistant(""),
    assistant("  "),
  ]);
  assert.deepEqual(repaired, kept);
});

test("a result that came after a later answer does not change messages that were sent before it", () => {
  const before = [user("go"), assistant("", [call("1", "a")]), assistant("moving on")];
  const sent = repairPairs(before);
  const later = repairPairs([...before, user("next"), result("1", "late")]);
  assert.deepEqual(later.slice(0, sent.length), sent);
});

test("a call id that a server uses again in each answer is renamed, with its result", () => {
  const messages = [
    user("go"),
    assistant("", [call("call_0", "a")]),
    result("call_0", "first"),
    assistant("", [call("call_0", "b")]),
    result("call_0", "second"),
  ];
  const repaired = repairPairs(messages);
  assert.equal(isValidSequence(repaired), undefined);
  assert.deepEqual(repaired[3], assistant("", [call("call_0_2", "b")]));
  assert.deepEqual(repaired[4], result("call_0_2", "second"));
});

test("the texts of a message are looked at once, however often its context is checked", () => {
  let looks = 0;
  const part = {
    type: "text" as const,
    get text() {
      looks += 1;
      return " ".repeat(100);
    },
  };
  const messages = [user("go"), { ...assistant(""), content: [part] }, user("again")];
  for (let check = 0; check < 3; check++) assert.equal(repairPairs(messages).length, 2);
  assert.equal(looks, 1);
});

test("each of 100,000 calls with one id gets its own, with its result", () => {
  const count = 100_000;
  const calls = Array.from({ length: count }, () => call("1", "read"));
  const results = Array.from({ length: count }, (_, at) => result("1", `text ${at}`));
  const repaired = repairPairs([user("go"), assistant("", calls), ...results]);
  assert.equal(isValidSequence(repaired), undefined);
  const last = repaired.at(-1);
  assert.ok(last?.role === "toolResult");
  assert.equal(last.toolCallId, `1_${count}`);
  assert.deepEqual(last.content, results.at(-1)?.content);
});
