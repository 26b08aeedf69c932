import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ScriptedEndpoint } from "../../../packages/testkit/src/endpoint/model-endpoint-server.ts";

describe("the model of conformance runs, over Google's generateContent", () => {
  let endpoint: ScriptedEndpoint;
  before(async () => {
    const call = { id: "call_1", name: "note", arguments: { word: "amber" } };
    endpoint = await ScriptedEndpoint.start(() => ({ text: "I note it.", toolCalls: [call] }));
  });
  after(() => endpoint.close());

  const body = {
    systemInstruction: { parts: [{ text: "Be short." }] },
    tools: [{ functionDeclarations: [{ name: "mcp_host_note" }, { name: "look" }] }],
    contents: [
      { role: "user", parts: [{ text: "Go on." }] },
      { role: "model", parts: [{ functionCall: { name: "look", args: { at: "pier" } } }] },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "look", response: { output: "x" } } },
          { text: "And?" },
          { inlineData: { mimeType: "image/png", data: "AA==" } },
        ],
      },
    ],
  };
  const ask = async (method: string): Promise<string> => {
    const { origin } = new URL(endpoint.url);
    const answer = await fetch(`${origin}/v1beta/models/m:${method}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    return answer.text();
  };

  it("reads calls and results as such, and calls a tool by its offered name", async () => {
    assert.match(await ask("streamGenerateContent?alt=sse"), /"name":"mcp_host_note"/);
    const [request] = endpoint.requests;
    assert.deepEqual(request?.tools, [{ name: "note", namespace: "mcp_host" }, { name: "look" }]);
    assert.deepEqual(request?.items, [
      { role: "system", text: "Be short.", callIds: [] },
      { role: "user", text: "Go on.", callIds: [] },
      { role: "assistant", text: '{"at":"pier"}', callIds: ["look"], calls: ["look"] },
      { role: "tool", text: "x", callIds: ["look"] },
      { role: "user", text: "And?", callIds: [], images: ["data:image/png;base64,AA=="] },
    ]);
  });

  it("answers as events, as one list, as a whole, and with a count", async () => {
    assert.match(await ask("streamGenerateContent?alt=sse"), /^data: \{.*\}\n\n/);
    const list = JSON.parse(await ask("streamGenerateContent")) as { modelVersion: string }[];
    assert.ok(list.length > 1 && list.every(({ modelVersion }) => modelVersion === "m"));
    const { candidates } = JSON.parse(await ask("generateContent")) as {
      candidates: { content: { parts: object[] }; finishReason: string }[];
    };
    assert.equal(candidates[0]?.finishReason, "STOP");
    assert.match(JSON.stringify(candidates[0]?.content.parts), /I note it\..*functionCall/);
    assert.deepEqual(JSON.parse(await ask("countTokens")), { totalTokens: 100 });
  });
});
