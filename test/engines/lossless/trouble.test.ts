/** Errors with what ended them, and the open steps of a plan, from the calls of an agent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { callRecords } from "../../../packages/core/src/compaction/summary/calls.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import {
  planAfter,
  troubleLine,
  troubleLines,
  troublesAfter,
} from "../../../packages/lossless/src/head/trouble.ts";

let calls = 0;

function call(name: string, args: Record<string, unknown>, result: string, isError = false): AgentMessage[] {
  const id = `call_${++calls}`;
  return [
    { role: "assistant", content: [{ type: "toolCall", id, name, arguments: args }] },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text: result }],
      isError,
    },
  ];
}

const failing = (): AgentMessage[] =>
  call("shell", { command: "npm test" }, "TypeError: gate is not a function\n  at a.ts:3", true);
const passing = (): AgentMessage[] => call("shell", { command: "npm test" }, "12 passing");
const edit = (path: string): AgentMessage[] => call("edit", { path, oldText: "a", newText: "b" }, "ok");

test("an error is listed with the files whose change ended it", () => {
  const troubles = troublesAfter([], callRecords([...failing(), ...edit("src/gate.ts"), ...passing()]));
  assert.deepEqual(troubles.map(troubleLine), [
    "shell npm test — TypeError: gate is not a function (gone after changes in src/gate.ts)",
  ]);
});

test("an error stays open across compactions until the same call succeeds", () => {
  const open = troublesAfter([], callRecords([...failing(), ...edit("src/gate.ts")]));
  assert.deepEqual(troubleLines(open, 100), ["shell npm test — TypeError: gate is not a function"]);
  const again = troublesAfter(open, callRecords([...failing(), ...edit("src/quay.ts"), ...passing()]));
  assert.equal(again.length, 1);
  assert.match(troubleLines(again, 100).join(), /gone after changes in src\/gate\.ts, src\/quay\.ts\)$/);
});

test("open errors come before those that are gone, and what ended without a change is left out", () => {
  const lint = call("shell", { command: "npm run lint" }, "error: no-unused-vars", true);
  const flaky = [...failing(), ...passing()];
  const troubles = troublesAfter([], callRecords([...flaky, ...lint]));
  assert.deepEqual(troubleLines(troubles, 1_000), ["shell npm run lint — error: no-unused-vars"]);
  assert.deepEqual(troubleLines(troubles, 2), []);
});

test("the open steps of the newest plan are kept, the one in progress first", () => {
  const todos = (...states: [string, string][]): AgentMessage[] =>
    call("TodoWrite", { todos: states.map(([content, status]) => ({ content, status })) }, "ok");
  const first = todos(["Read the parser", "in_progress"], ["Fix the gate", "pending"]);
  const second = todos(
    ["Read the parser", "completed"],
    ["Write tests", "pending"],
    ["Fix the gate", "in_progress"],
  );
  assert.deepEqual(planAfter([], [...first, ...second, ...passing()]), [
    "In progress: Fix the gate",
    "Next: Write tests",
  ]);
  assert.deepEqual(planAfter(["Next: Rest"], passing()), ["Next: Rest"]);
  assert.deepEqual(planAfter(["Next: Rest"], todos(["Rest", "completed"])), []);
});
