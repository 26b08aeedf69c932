/** Calls without a stream: the answers of each endpoint, for models of each protocol. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Protocol } from "../servers/server.ts";
import { ApiBench } from "./setting.ts";

type Fields = Record<string, unknown>;

const PROTOCOLS: readonly Protocol[] = [
  "openai-completions",
  "anthropic-messages",
  "openai-responses",
  "google",
];
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const CALL = { id: "call_1", name: "weather", arguments: { city: "Bern" } };
const USAGE = { input: 100, output: 20, cacheRead: 40 };
const QUESTION = { role: "user", content: "Weather in Bern?" };

/** One endpoint: its requests, and its answers without what differs between calls. */
interface Form {
  /** The first request. */
  asked: Fields;
  /** Members of an answer with text and a call, in the endpoint's own form. */
  called: Fields;
  /** Members of an answer of text. */
  ended: Fields;
  /** The request after the client has run its tool. */
  next(answer: Fields): Fields;
}

const CHAT_TOOL = { type: "function", function: { name: "weather", description: "W.", parameters: SCHEMA } };
const RESPONSES_TOOL = { type: "function", name: "weather", description: "W.", parameters: SCHEMA };
const ARGUMENTS = '{"city":"Bern"}';

function messageOf(answer: Fields): Fields {
  const [choice] = answer["choices"] as { message: Fields }[];
  return choice?.message ?? {};
}

const FORMS: Readonly<Record<string, Form>> = {
  "/chat/completions": {
    asked: { messages: [QUESTION], tools: [CHAT_TOOL] },
    called: {
      object: "chat.completion",
      role: "assistant",
      content: "I look.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: ARGUMENTS } }],
      finish_reason: "tool_calls",
      counts: [140, 40, 20, 160],
    },
    ended: { object: "chat.completion", role: "assistant", content: "Sunny.", finish_reason: "stop" },
    next: (answer) => {
      const result = { role: "tool", tool_call_id: "call_1", content: "sunny" };
      return { messages: [QUESTION, messageOf(answer), result], tools: [CHAT_TOOL] };
    },
  },
  "/messages": {
    asked: { messages: [QUESTION], max_tokens: 500, tools: [{ name: "weather", input_schema: SCHEMA }] },
    called: {
      type: "message",
      role: "assistant",
      content: [
        { type: "text", text: "I look." },
        { type: "tool_use", id: "call_1", name: "weather", input: { city: "Bern" } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      counts: [100, 40, 20],
    },
    ended: { type: "message", content: [{ type: "text", text: "Sunny." }], stop_reason: "end_turn" },
    next: ({ content }) => {
      const result = { type: "tool_result", tool_use_id: "call_1", content: "sunny" };
      const messages = [QUESTION, { role: "assistant", content }, { role: "user", content: [result] }];
      return { messages, max_tokens: 500, tools: [{ name: "weather", input_schema: SCHEMA }] };
    },
  },
  "/responses": {
    asked: { input: [QUESTION], tools: [RESPONSES_TOOL] },
    called: {
      object: "response",
      status: "completed",
      error: null,
      incomplete_details: null,
      output: [
        { type: "message", role: "assistant", status: "completed", text: "I look." },
        {
          type: "function_call",
          call_id: "call_1",
          name: "weather",
          arguments: ARGUMENTS,
          status: "completed",
        },
      ],
      counts: [140, 40, 20, 160],
    },
    ended: {
      status: "completed",
      output: [{ type: "message", role: "assistant", status: "completed", text: "Sunny." }],
    },
    next: ({ output }) => {
      const result = { type: "function_call_output", call_id: "call_1", output: "sunny" };
      return { input: [QUESTION, ...(output as Fields[]), result], tools: [RESPONSES_TOOL] };
    },
  },
};

/** An answer with its parts at the top, its counts as a list, and the elements of a response without their ids. */
function flat(answer: Fields): Fields {
  const [choice] = (answer["choices"] ?? []) as Fields[];
  const flattened: Fields = { ...answer, ...choice, ...(choice?.["message"] as Fields | undefined) };
  const usage = (answer["usage"] ?? {}) as Record<string, number | { cached_tokens: number }>;
  const { prompt_tokens, input_tokens, cache_read_input_tokens, completion_tokens, output_tokens } = usage;
  const details = usage["prompt_tokens_details"] ?? usage["input_tokens_details"];
  const cached = typeof details === "object" ? details.cached_tokens : cache_read_input_tokens;
  flattened["counts"] = [
    prompt_tokens ?? input_tokens,
    cached,
    completion_tokens ?? output_tokens,
    usage["total_tokens"],
  ].filter((count) => count !== undefined);
  if (!Array.isArray(answer["output"])) return flattened;
  flattened["output"] = (answer["output"] as Fields[]).map(({ id, content, ...item }) => {
    assert.equal(typeof id, "string");
    return content === undefined ? item : { ...item, text: (content as { text: string }[])[0]?.text };
  });
  return flattened;
}

function assertHas(answer: Fields, expected: Fields): void {
  const found = flat(answer);
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(found[name], value, name);
  assert.match(String(answer["id"]), /\w{4}/);
  // A response object names the model as the client did; the other APIs pass on what the provider says.
  assert.equal(answer["model"], answer["object"] === "response" ? "test/model" : "model");
}

describe("a call without a stream", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  for (const [endpoint, form] of Object.entries(FORMS))
    for (const protocol of PROTOCOLS)
      it(`to /v1${endpoint} for a model that speaks ${protocol} is one JSON body, and the tool's result continues it`, async () => {
        bench = await ApiBench.open(protocol, [
          { text: "I look.", toolCalls: [CALL], usage: USAGE },
          { text: "Sunny." },
        ]);
        const first = await bench.post(endpoint, { model: "test/model", ...form.asked });
        assert.equal(first.status, 200, first.text);
        assertHas(first.json, form.called);
        const second = await bench.post(endpoint, {
          model: "test/model",
          stream: false,
          ...form.next(first.json),
        });
        assert.equal(second.status, 200, second.text);
        assertHas(second.json, form.ended);
        assert.equal(bench.sessionKeys().length, 1);
        assert.match(bench.model.requests[1]?.text ?? "", /sunny/);
      });

  for (const [endpoint, { asked }] of Object.entries(FORMS))
    for (const protocol of PROTOCOLS)
      it(`to /v1${endpoint} that a provider of ${protocol} refuses is an error with its status and reason`, async () => {
        bench = await ApiBench.open(protocol, () => ({ status: 401 }));
        const { status, json } = await bench.post(endpoint, { model: "test/model", ...asked });
        assert.equal(status, 401);
        const { error } = json as { error: { message: string; type: string } };
        assert.match(error.message, /scripted status 401/);
        assert.equal(error.type, endpoint === "/messages" ? "authentication_error" : "invalid_request_error");
      });
});
