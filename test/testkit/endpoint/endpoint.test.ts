import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { ScriptedEndpoint } from "../../../packages/testkit/src/endpoint/model-endpoint-server.ts";
import { seen } from "../../../packages/testkit/src/endpoint/seen.ts";
import { until } from "../../runner/until.ts";

describe("the model of conformance runs", () => {
  let endpoint: ScriptedEndpoint;
  beforeEach(async () => {
    endpoint = await ScriptedEndpoint.start(() => ({ text: "Fine." }));
  });
  afterEach(() => endpoint.close());

  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(`${endpoint.url}/${path}`, { method: "POST", body: JSON.stringify(body) });

  it("answers a request beside the conversation, which the checks do not see", async () => {
    endpoint.beside = ({ items }) => items.some(({ text }) => text.startsWith("<session>"));
    const ask = (content: string): Promise<Response> =>
      post("chat/completions", { model: "m", messages: [{ role: "user", content }] });
    assert.match(await (await ask("<session>Hello.")).text(), /Aside\./);
    assert.equal(endpoint.requests.length, 0);
    assert.match(await (await ask("Hello.")).text(), /Fine\./);
    assert.equal(endpoint.requests.length, 1);
  });

  it("answers a request without streaming with one complete body", async () => {
    endpoint.script = () => ({
      toolCalls: [{ id: "call_1", name: "note", arguments: { word: "amber" } }],
      usage: { input: 7, output: 3 },
    });
    const answered = await post("chat/completions", { model: "m", messages: [] });
    const { choices, usage } = (await answered.json()) as Record<string, unknown>;
    assert.deepEqual(choices, [
      {
        index: 0,
        message: {
          role: "assistant",
          content: null,
          refusal: null,
          annotations: [],
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "note", arguments: '{"word":"amber"}' } },
          ],
        },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ]);
    assert.deepEqual(usage, {
      prompt_tokens: 7,
      completion_tokens: 3,
      total_tokens: 10,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
  });

  it("names in a call the namespace in which the tool was offered", async () => {
    endpoint.script = () => ({ toolCalls: [{ id: "call_1", name: "note", arguments: {} }] });
    const tools = [{ type: "namespace", name: "host", tools: [{ type: "function", name: "note" }] }];
    const answered = await post("responses", { model: "m", input: [], tools });
    assert.match(await answered.text(), /"name":"note","namespace":"host"/);
  });

  it("refuses requests that are not for a model, and scripted ones", async () => {
    assert.equal((await post("embeddings", {})).status, 404);
    assert.equal((await fetch(`${endpoint.url}/models`)).status, 200);
    endpoint.script = () => ({ status: 400 });
    assert.equal((await post("responses", { input: [] })).status, 400);
    assert.equal(endpoint.requests.length, 1);
  });

  it("counts the clients that disconnect during an answer", async () => {
    endpoint.script = () => ({ text: "A long answer.", hangAfterChunks: 2 });
    const leaving = new AbortController();
    const body = JSON.stringify({ model: "m", messages: [], stream: true });
    const { signal } = leaving;
    await fetch(`${endpoint.url}/chat/completions`, { method: "POST", body, signal });
    leaving.abort();
    await until(() => endpoint.left !== 0);
    assert.equal(endpoint.left, 1);
  });
});

describe("a request as the model sees it", () => {
  const read = (body: Record<string, unknown>): ReturnType<typeof seen> =>
    seen({ method: "POST", path: "", headers: {}, body, text: "" });

  it("is the same conversation in both protocols", () => {
    const items = [
      { role: "system", text: "Be brief.", callIds: [] },
      { role: "user", text: "Note it.", callIds: [] },
      { role: "assistant", text: '{"word":"amber"}', callIds: ["call_1"], calls: ["note"] },
      { role: "tool", text: "noted", callIds: ["call_1"] },
    ];
    const chat = read({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "Note it." }] },
        {
          role: "assistant",
          content: null,
          refusal: null,
          annotations: [],
          tool_calls: [{ id: "call_1", function: { name: "note", arguments: '{"word":"amber"}' } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "noted" },
      ],
      tools: [{ type: "function", function: { name: "note" } }],
    });
    const responses = read({
      instructions: "Be brief.",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Note it." }] },
        { type: "reasoning", summary: [] },
        { type: "function_call", call_id: "call_1", name: "note", arguments: '{"word":"amber"}' },
        { type: "function_call_output", call_id: "call_1", output: "noted" },
      ],
      tools: [{ type: "function", name: "note" }],
    });
    assert.deepEqual(chat, { items, tools: [{ name: "note" }] });
    assert.deepEqual(responses, chat);
  });
});
