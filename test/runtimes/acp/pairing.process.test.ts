/** Calls of the host's tools over MCP, and the agent's reports of them in its own stream: either may arrive first. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import { answer, hostOf, setUp, tearDown, turn } from "./agent-bench.ts";
import { longTest } from "../../runner/long-tests.ts";

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

/** Each call in the transcript: its id, its word, its result. */
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

describe("parallel calls of the host's tools by an agent", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  for (const [name, order] of [
    ["in the order of the reports", "t1amber,t2basalt,m1amber,m2basalt"],
    ["in the other order", "t1amber,t2basalt,m2basalt,m1amber"],
    ["the second before its report", "t1amber,m2basalt,t2basalt,m1amber"],
    ["the second before its report, and the first with it", "t1amber,m2basalt,m1amber,t2basalt"],
    ["both before the reports", "m1amber,m2basalt,t1amber,t2basalt"],
  ] as const)
    it(`each has its own result and its id in the hooks: ${name}`, async () => {
      const events = await ordered(order);
      assert.deepEqual(recorded(events), [
        ["c1", "amber", "noted amber"],
        ["c2", "basalt", "noted basalt"],
      ]);
      assert.deepEqual(called.toSorted(), ["c1 amber", "c2 basalt"]);
    });

  longTest("have an id each, also with equal arguments", async () => {
    for (const order of ["t1amber,t2amber,m1amber,m2amber", "m1amber,m2amber,t1amber,t2amber"]) {
      assert.deepEqual(recorded(await ordered(order)), [
        ["c1", "amber", "noted amber"],
        ["c2", "amber", "noted amber"],
      ]);
      assert.deepEqual(called.toSorted(), ["c1 amber", "c2 amber"]);
    }
  });

  longTest("are paired in the order of the reports, when the agent reports no arguments", async () => {
    assert.deepEqual(recorded(await ordered("bare t1amber,m1amber,t2basalt,m2basalt")), [
      ["c1", undefined, "noted amber"],
      ["c2", undefined, "noted basalt"],
    ]);
  });

  longTest("run when the agent reports them only at their end, and have the reported results", async () => {
    const events = await ordered("m1amber,m2basalt");
    assert.deepEqual(called.map((each) => each.replace(/.* /, "")).toSorted(), ["amber", "basalt"]);
    assert.deepEqual(recorded(events), [
      ["c1", undefined, "native 1"],
      ["c2", undefined, "native 2"],
    ]);
  });

  longTest("are not paired with a wrong report: a call with other words is another one", async () => {
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
