/** Calls of the host's tools over MCP, and what the agent tells of them in its own stream: either comes first. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../src/contract/events.ts";
import type { PluginApi } from "../../../src/contract/plugin.ts";
import { answer, hostOf, setUp, tearDown, turn } from "./agent-bench.ts";

beforeEach(setUp);
afterEach(tearDown);

/** Each call as the hooks see it: id and word. */
let called: string[] = [];

function note(api: PluginApi): void {
  api.registerTool({
    name: "note",
    description: "Takes a note.",
    parameters: { type: "object", properties: { word: { type: "string" } } },
    execute: async ({ word }) => ({
      content: [{ type: "text", text: `noted ${String(word)}` }],
      isError: false,
    }),
  });
  api.on("before_tool_call", ({ toolCallId, params }) => {
    called.push(`${toolCallId} ${String(params["word"])}`);
    return undefined;
  });
}

/** What the transcript has of each call: its id, its word, its result. */
function recorded(events: readonly TurnEvent[]): [id: string, word: unknown, result: string][] {
  const messages = events.flatMap((event) => (event.type === "message" ? [event.message] : []));
  const results = new Map<string, string>();
  for (const message of messages)
    if (message.role === "toolResult")
      results.set(
        message.toolCallId,
        message.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
      );
  return messages.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part): [string, unknown, string][] =>
          part.type === "toolCall" ? [[part.id, part.arguments["word"], results.get(part.id) ?? "none"]] : [],
        )
      : [],
  );
}

async function ordered(words: string): Promise<TurnEvent[]> {
  called = [];
  const host = await hostOf({ more: { plugins: { notes: note } } });
  const events = await turn(host, `!orders ${words}`);
  assert.equal(answer(events), "Both are noted.");
  return events;
}

describe("calls of the host's tools that an agent makes at once", () => {
  for (const [name, order] of [
    ["in the order in which they are told", "t1amber,t2basalt,m1amber,m2basalt"],
    ["in the other order", "t1amber,t2basalt,m2basalt,m1amber"],
    ["the second before it is told", "t1amber,m2basalt,t2basalt,m1amber"],
    ["the second before it is told, and the first with it", "t1amber,m2basalt,m1amber,t2basalt"],
    ["both before they are told", "m1amber,m2basalt,t1amber,t2basalt"],
  ] as const)
    it(`each has its own result and its id in the hooks: ${name}`, async () => {
      const events = await ordered(order);
      assert.deepEqual(recorded(events), [
        ["c1", "amber", "noted amber"],
        ["c2", "basalt", "noted basalt"],
      ]);
      assert.deepEqual(called.toSorted(), ["c1 amber", "c2 basalt"]);
    });

  it("have each its id, where both say the same", async () => {
    for (const order of ["t1amber,t2amber,m1amber,m2amber", "m1amber,m2amber,t1amber,t2amber"]) {
      assert.deepEqual(recorded(await ordered(order)), [
        ["c1", "amber", "noted amber"],
        ["c2", "amber", "noted amber"],
      ]);
      assert.deepEqual(called.toSorted(), ["c1 amber", "c2 amber"]);
    }
  });

  it("are taken as they are told, where the agent does not tell what they are called with", async () => {
    assert.deepEqual(recorded(await ordered("bare t1amber,m1amber,t2basalt,m2basalt")), [
      ["c1", undefined, "noted amber"],
      ["c2", undefined, "noted basalt"],
    ]);
  });

  it("run where the agent tells of them when they are over, and have the results that it tells", async () => {
    const events = await ordered("m1amber,m2basalt");
    assert.deepEqual(called.map((each) => each.replace(/.* /, "")).toSorted(), ["amber", "basalt"]);
    assert.deepEqual(recorded(events), [
      ["c1", undefined, "native 1"],
      ["c2", undefined, "native 2"],
    ]);
  });

  it("are not told apart by what an agent tells wrongly: a call with other words is another one", async () => {
    const events = await ordered("t1slate,t2marl,m1amber,m2basalt");
    assert.deepEqual(recorded(events), [
      ["c1", "slate", "native 1"],
      ["c2", "marl", "native 2"],
    ]);
    assert.ok(
      called.every((each) => !/^c[12] /.test(each)),
      called.join(", "),
    );
  });
});
