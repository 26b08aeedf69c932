import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ScriptedEndpoint } from "../../../packages/testkit/src/endpoint/model-endpoint-server.ts";

describe("the model of conformance runs, over Anthropic's Messages", () => {
  let endpoint: ScriptedEndpoint;
  before(async () => {
    const call = { id: "call_1", name: "note", arguments: { word: "amber" } };
    endpoint = await ScriptedEndpoint.start(() => ({ toolCalls: [call] }));
  });
  after(() => endpoint.close());

  it("reads tool results as such, and calls a tool by its offered name", async () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
    const answer = await fetch(`${endpoint.url}/messages?beta=true`, {
      method: "POST",
      body: JSON.stringify({
        model: "m",
        system: [{ type: "text", text: "Be short." }],
        tools: [{ name: "mcp__host__note" }, { name: "Bash" }],
        messages: [
          { role: "user", content: "Go on." },
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "a", name: "Bash", input: { command: "ls" } }],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "a", content: "x" },
              { type: "text", text: "And?" },
              image,
            ],
          },
        ],
      }),
    });
    assert.match(await answer.text(), /"name":"mcp__host__note"/);
    const [request] = endpoint.requests;
    assert.deepEqual(request?.tools, [{ name: "note", namespace: "mcp__host" }, { name: "Bash" }]);
    assert.deepEqual(request?.items, [
      { role: "system", text: "Be short.", callIds: [] },
      { role: "user", text: "Go on.", callIds: [] },
      { role: "assistant", text: '{"command":"ls"}', callIds: ["a"], calls: ["Bash"] },
      { role: "tool", text: "x", callIds: ["a"] },
      { role: "user", text: "And?", callIds: [], images: ["data:image/png;base64,AA=="] },
    ]);
  });
});
