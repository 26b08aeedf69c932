/**
 * The compliance cases of Open Responses, by their ids, at `POST /v1/responses` for models of each protocol. A case has an answer
 * like the one that a real model would give; what is checked is the shape of the response, and what reaches the model.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ReplyStep } from "../../servers/server.ts";
import { SseReader } from "../../../packages/core/src/protocols/sse.ts";
import { ResponseChecks } from "./response-resource.ts";
import { PNG } from "./samples.ts";
import { placesOf, Targets, type Target } from "./targets.ts";

type Fields = Record<string, unknown>;

interface Answered {
  response: Fields;
  events: Fields[];
}

const CHECKS = new ResponseChecks();

interface Case {
  id: string;
  input: object[];
  tools?: object[];
  stream?: boolean;
  answer: ReplyStep;
  /** In the request that the model gets. */
  reaches: RegExp;
  checks?(answered: Answered): void;
}

const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Get the current weather for a location",
  parameters: {
    type: "object",
    properties: { location: { type: "string", description: "The city and state, e.g. San Francisco, CA" } },
    required: ["location"],
  },
};
const ASKS_WEATHER = {
  input: [{ type: "message", role: "user", content: "What's the weather like in San Francisco?" }],
  tools: [WEATHER],
  answer: {
    toolCalls: [{ id: "call_7", name: "get_weather", arguments: { location: "San Francisco, CA" } }],
  },
  reaches: /get_weather/,
};

function callsOf({ response }: Answered): Fields[] {
  return (response["output"] as Fields[]).filter(({ type }) => type === "function_call");
}

function checkCall(answered: Answered): void {
  const [call, ...others] = callsOf(answered);
  assert.ok(call && others.length === 0);
  assert.equal(call["name"], "get_weather");
  assert.deepEqual(JSON.parse(String(call["arguments"])), { location: "San Francisco, CA" });
}

const CASES: readonly Case[] = [
  {
    id: "basic-response",
    input: [{ type: "message", role: "user", content: "Say hello in exactly 3 words." }],
    answer: { text: "Hello there, friend." },
    reaches: /Say hello in exactly 3 words\./,
  },
  {
    id: "streaming-response",
    stream: true,
    input: [{ type: "message", role: "user", content: "Count from 1 to 5." }],
    answer: { text: "1, 2, 3, 4, 5", chunkSize: 3 },
    reaches: /Count from 1 to 5\./,
    checks: ({ events }) => {
      const deltas = events.filter(({ type }) => type === "response.output_text.delta");
      assert.ok(deltas.length > 1);
      assert.equal(deltas.map(({ delta }) => delta).join(""), "1, 2, 3, 4, 5");
    },
  },
  {
    id: "system-prompt",
    input: [
      { type: "message", role: "system", content: "You are a pirate. Always respond in pirate speak." },
      { type: "message", role: "user", content: "Say hello." },
    ],
    answer: { text: "Ahoy!" },
    reaches: /You are a pirate\. Always respond in pirate speak\./,
  },
  { id: "tool-calling", ...ASKS_WEATHER, checks: checkCall },
  {
    id: "tool-calling-streaming",
    stream: true,
    ...ASKS_WEATHER,
    checks: (answered) => {
      checkCall(answered);
      const kinds = answered.events.map(({ type, item }) =>
        item === undefined ? String(type) : `${String(type)} ${String((item as Fields)["type"])}`,
      );
      for (const kind of [
        "response.output_item.added function_call",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done function_call",
      ])
        assert.ok(kinds.includes(kind), kind);
    },
  },
  {
    id: "image-input",
    input: [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "What do you see in this image? Answer in one sentence." },
          { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
        ],
      },
    ],
    answer: { text: "A red dot." },
    reaches: new RegExp(PNG.replaceAll("+", String.raw`\+`)),
  },
  {
    id: "multi-turn",
    input: [
      { type: "message", role: "user", content: "My name is Alice." },
      {
        type: "message",
        role: "assistant",
        content: "Hello Alice! Nice to meet you. How can I help you today?",
      },
      { type: "message", role: "user", content: "What is my name?" },
    ],
    answer: { text: "Alice." },
    reaches: /Nice to meet you[^]*What is my name\?/,
  },
];

async function ask({ url, key, model }: Target, { input, tools, stream = false }: Case): Promise<Answered> {
  const answer = await fetch(`${url}/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, input, ...(tools ? { tools } : {}), stream }),
  });
  const body = Buffer.from(await answer.arrayBuffer());
  assert.equal(answer.status, 200, body.toString());
  if (!stream) return { response: JSON.parse(body.toString()) as Fields, events: [] };
  const events = new SseReader().take(body).map(({ event, data }) => {
    const fields = JSON.parse(data) as Fields;
    assert.equal(fields["type"], event);
    return fields;
  });
  return { response: (events.at(-1)?.["response"] ?? {}) as Fields, events };
}

let targets: Targets;
before(async () => {
  targets = await Targets.open();
});
after(() => targets.end());

for (const place of placesOf("openai-responses").slice(1))
  describe(`Open Responses compliance of ${place.name}`, () => {
    for (const each of CASES)
      it(each.id, async () => {
        targets.script(each.answer);
        const answered = await ask(place.of(targets), each);
        const { response, events } = answered;
        assert.deepEqual(CHECKS.response(response), []);
        assert.equal(response["status"], "completed");
        assert.notDeepEqual(response["output"], []);
        assert.deepEqual(CHECKS.events(events), []);
        assert.equal(events.length > 0, each.stream === true);
        each.checks?.(answered);
        assert.match(targets.asked[0]?.text ?? "", each.reaches);
      });
  });
