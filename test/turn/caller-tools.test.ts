import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { PluginTool } from "../../packages/contract/src/host/plugin.ts";
import type { RunRequest } from "../../packages/contract/src/host/run.ts";
import { Bench, eventsOf } from "./in-process.ts";

const TIDE: PluginTool = {
  name: "tide",
  description: "The height of the tide.",
  parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  readOnly: true,
  async execute({ place }) {
    return { isError: false, content: [{ type: "text", text: `3 m at ${String(place)}` }] };
  },
};

async function setting(t: TestContext): Promise<Bench> {
  const bench = await Bench.with((_request, index) =>
    index === 0
      ? { toolCalls: [{ id: "call_1", name: "tide", arguments: { place: "Ostend" } }] }
      : { text: "3 m." },
  );
  t.after(() => bench.end());
  return bench;
}

describe("run({ tools })", () => {
  it("offers a list of tools in the shape that plugins use, and runs a call", async (t) => {
    const bench = await setting(t);
    const events = await bench.ask(await bench.host(), "How high is it?", { tools: [TIDE] });
    const done = events.find((event) => event.type === "tool.completed");
    assert.deepEqual(done?.outcome.content, [{ type: "text", text: "3 m at Ostend" }]);
  });

  it("leaves out a tool with the name of one of the host's, and says so", async (t) => {
    const bench = await setting(t);
    const events = await bench.ask(await bench.host(), "Hello.", {
      tools: [TIDE, { ...TIDE, name: "read" }],
    });
    const reasons = events.flatMap((event) => (event.type === "context.degraded" ? [event.reason] : []));
    assert.match(reasons.join("\n"), /read/);
  });

  for (const [title, tools, message] of [
    ["one tool in place of a list", TIDE, /these are an object without it/],
    ["a text", "tide", /these are a string/],
    ["a tool without execute", [{ ...TIDE, execute: undefined }], /execute of the tool tide is no function/],
    ["a tool without a schema", [{ ...TIDE, parameters: undefined }], /parameters of the tool tide/],
    ["a name with a space", [{ ...TIDE, name: "the tide" }], /the name of tools\[0\]/],
    ["null in the list", [null], /tools\[0\] is no object/],
  ] as const)
    it(`refuses ${title} in a sentence with the right shape`, async (t) => {
      const bench = await setting(t);
      const pagurus = await bench.host();
      const request = { prompt: "Hello.", cwd: bench.root, tools: tools as unknown as RunRequest["tools"] };
      const last = (await eventsOf(pagurus.run(request as RunRequest))).at(-1);
      assert.ok(last?.type === "turn.failed", JSON.stringify(last));
      assert.equal(last.error.code, "usage_invalid");
      assert.match(last.error.message, message);
      assert.match(
        last.error.message,
        /takes a list of tools \(\{ name, description, parameters, execute \}\)/,
      );
      assert.equal(bench.server.requests.length, 0);
    });
});
