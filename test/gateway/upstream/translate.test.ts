/** A harness of one protocol, answered by a model of another. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WireAnswer, WireApi } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { seen, type SeenItem } from "../../../packages/testkit/src/endpoint/seen.ts";
import { translatingUpstream } from "../../../packages/gateway/src/upstream/translate/translate-upstream.ts";
import type { ModelRequest } from "../../../packages/core/src/model/provider-types.ts";
import { modelAt, withServer } from "../../model/calling.ts";
import type { Protocol, RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { APIS, ask, DIALECTS, type Body } from "./translating.ts";

const SCHEMA = { type: "object", properties: { at: { type: "string" } }, required: ["at"] };
const RULES = "Be brief.";

/** The same conversation in each protocol: a question, parallel calls with their results, a developer text. */
const REQUESTS: Record<WireApi, Body> = {
  "openai-responses": {
    model: "harness-model",
    instructions: RULES,
    input: [
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Know this." }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Where is the whelk?" }] },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "opaque" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
      { type: "function_call", call_id: "call_1", name: "look", arguments: '{"at":"pier"}' },
      { type: "function_call", call_id: "call_2", name: "look", arguments: '{"at":"tower"}' },
      { type: "function_call_output", call_id: "call_2", output: "nothing" },
      {
        type: "function_call_output",
        call_id: "call_1",
        output: [{ type: "input_text", text: "a whelk" }],
      },
      { type: "message", role: "developer", content: [{ type: "input_text", text: "It is noon." }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "And the crab?" }] },
    ],
    tools: [
      { type: "function", name: "look", description: "Looks.", parameters: SCHEMA, strict: false },
      { type: "web_search", external_web_access: true },
      { type: "image_generation" },
    ],
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning: { effort: "high" },
    max_output_tokens: 900,
    store: false,
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: "t-1",
    stream: true,
  },
  "anthropic-messages": {
    model: "harness-model",
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=2" },
      { type: "text", text: RULES },
      { type: "text", text: "Know this.", cache_control: { type: "ephemeral" } },
    ],
    messages: [
      { role: "user", content: "Where is the whelk?" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "opaque" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "call_1", name: "look", input: { at: "pier" } },
          { type: "tool_use", id: "call_2", name: "look", input: { at: "tower" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_2", content: "nothing" },
          { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "a whelk" }] },
        ],
      },
      { role: "system", content: "It is noon." },
      { role: "user", content: [{ type: "text", text: "And the crab?" }] },
    ],
    tools: [
      { name: "look", description: "Looks.", input_schema: SCHEMA },
      { type: "web_search_20250305", name: "web_search" },
    ],
    thinking: { type: "enabled", budget_tokens: 20_000 },
    max_tokens: 900,
    stream: true,
  },
  "openai-completions": {
    model: "harness-model",
    messages: [
      { role: "system", content: RULES },
      { role: "system", content: "Know this." },
      { role: "user", content: "Where is the whelk?" },
      {
        role: "assistant",
        content: "I look.",
        reasoning_content: "Hm.",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"pier"}' } },
          { id: "call_2", type: "function", function: { name: "look", arguments: '{"at":"tower"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_2", content: "nothing" },
      { role: "tool", tool_call_id: "call_1", content: "a whelk" },
      { role: "system", content: "It is noon." },
      { role: "user", content: "And the crab?" },
    ],
    tools: [{ type: "function", function: { name: "look", description: "Looks.", parameters: SCHEMA } }],
    reasoning_effort: "high",
    max_completion_tokens: 900,
    stream: true,
    stream_options: { include_usage: true },
  },
  "google-generative-ai": {
    systemInstruction: { role: "user", parts: [{ text: RULES }, { text: "Know this." }] },
    contents: [
      { role: "user", parts: [{ text: "Where is the whelk?" }] },
      {
        role: "model",
        parts: [
          { text: "Hm.", thought: true, thoughtSignature: "opaque" },
          { text: "I look." },
          { functionCall: { id: "call_1", name: "look", args: { at: "pier" } }, thoughtSignature: "opaque" },
          { functionCall: { id: "call_2", name: "look", args: { at: "tower" } } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "call_2", name: "look", response: { output: "nothing" } } },
          { functionResponse: { id: "call_1", name: "look", response: { output: "a whelk" } } },
        ],
      },
      { role: "user", parts: [{ text: "And the crab?" }] },
    ],
    tools: [
      { functionDeclarations: [{ name: "look", description: "Looks.", parametersJsonSchema: SCHEMA }] },
      { googleSearch: {} },
    ],
    generationConfig: { maxOutputTokens: 900, thinkingConfig: { thinkingBudget: 20_000 } },
  },
};

const STEP: ReplyStep = {
  thinking: { text: "Which crab?" },
  text: "I look for the crab, twice.",
  toolCalls: [
    { id: "call_3", name: "look", arguments: { at: "pier" } },
    { id: "call_4", name: "look", arguments: { at: "sea", far: true } },
  ],
  usage: { input: 60, output: 9, cacheRead: 40 },
};

function line({ role, text, callIds }: SeenItem): string {
  return [role, ...callIds, text].join(" ").replaceAll(/\s+/g, " ");
}

/** The model's input, one line per element; pieces of one answer or of one round of results look alike. */
function shown(request: RecordedRequest): string[] {
  const lines: string[] = [];
  let last = "";
  for (const item of seen(request).items) {
    if (item.role === "assistant" && last === "assistant")
      lines.push(`${lines.pop()} ${line(item).slice(10)}`);
    else lines.push(line(item));
    last = item.role;
  }
  return lines;
}

function partsIn({ message }: WireAnswer): unknown[] {
  return message.content.flatMap((part): unknown[] => {
    if (part.type === "text") return [part.text];
    return part.type === "toolCall" ? [[part.id, part.name, part.arguments]] : [];
  });
}

const PARTS = [
  "I look for the crab, twice.",
  ["call_3", "look", { at: "pier" }],
  ["call_4", "look", { at: "sea", far: true }],
];
const SERVERS: Protocol[] = ["openai-responses", "anthropic-messages", "openai-completions", "google"];

describe("a model of another protocol", () => {
  for (const api of APIS) {
    for (const protocol of SERVERS) {
      if (api === protocol || (api === "google-generative-ai" && protocol === "google")) continue;
      it(`gets the content of an ${api} request and answers in its form, over ${protocol}`, () =>
        withServer(protocol, [STEP, STEP], async ({ server, model }) => {
          const streamed = await ask(model, { api, body: REQUESTS[api] });
          assert.deepEqual(partsIn(streamed), PARTS);
          assert.equal(streamed.isComplete, true);
          assert.equal(streamed.message.stopReason, "toolUse");
          assert.deepEqual(
            [streamed.usage?.input, streamed.usage?.cacheRead, streamed.usage?.output],
            [60, 40, 9],
          );
          const whole = await ask(model, { api, body: { ...REQUESTS[api], stream: false } });
          assert.deepEqual([partsIn(whole), whole.isComplete], [PARTS, true]);
          assert.equal(server.requests.length, 2);
          const [request] = server.requests;
          assert.ok(request);
          assert.equal(request.text, server.requests[1]?.text, "the model is asked the same");
          if (protocol === "google") return;
          // Google's protocol has no rules in the middle of a conversation.
          const noon =
            api === "google-generative-ai"
              ? ["user And the crab?"]
              : protocol === "openai-responses"
                ? ["system It is noon.", "user And the crab?"]
                : protocol === "anthropic-messages"
                  ? ["user <developer_instructions> It is noon. </developer_instructions>And the crab?"]
                  : ["user <developer_instructions> It is noon. </developer_instructions> And the crab?"];
          const order = ["tool call_1 a whelk", "tool call_2 nothing"];
          const calls =
            protocol === "openai-responses"
              ? `I look. call_1 {"at":"pier"} call_2 {"at":"tower"}`
              : `call_1 call_2 I look.{"at":"pier"}{"at":"tower"}`;
          assert.deepEqual(shown(request), [
            "system Be brief. Know this.",
            "user Where is the whelk?",
            `assistant ${calls}`,
            ...order,
            ...noon,
          ]);
          assert.deepEqual(seen(request).tools, [{ name: "look" }]);
          assert.ok(!request.text.includes("opaque") && !request.text.includes("billing"));
          // Anthropic's limit covers thinking and text together.
          if (protocol !== "anthropic-messages") assert.match(request.text, /_tokens":900\b/);
        }));
    }
  }

  for (const api of APIS) {
    it(`gets the length of the shared prefix of an ${api} request, the same cache key and three attempts`, async () => {
      const asked: ModelRequest[] = [];
      const upstream = translatingUpstream({
        model: modelAt("http://127.0.0.1:1", "openai-completions"),
        sessionKey: "s-1",
        async *stream(_model, request) {
          await Promise.resolve();
          asked.push(request);
          yield { type: "finish", message: { role: "assistant", content: [] } };
        },
      });
      const { dialect, path } = DIALECTS[api];
      const body = Buffer.from(JSON.stringify(REQUESTS[api]));
      const { signal } = new AbortController();
      const read = dialect.read(path, {}, body);
      await upstream.send({ method: "POST", path, rawHeaders: [], body: [body], read, dialect, signal });
      const [request] = asked;
      assert.ok(request);
      // Developer text right before the question belongs to the live turn if the dialect has it so.
      const live = read.items.length - read.liveFrom;
      assert.equal(request.stableCount, request.messages.length - live);
      assert.ok(live === 1 || live === 2, String(live));
      assert.deepEqual([request.cacheKey, request.thinking], ["s-1", "high"]);
      assert.deepEqual(request.retry, { attempts: 3 }, "as a model of the same protocol");
    });
  }
});
