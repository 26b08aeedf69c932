/** The provider's diagnosis of cache misses in requests that the gateway changes: when it is requested, and what is read. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { OwnParts } from "../../packages/contract/src/session/receipt.ts";
import type { WireRequest } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import { ownPartsOf } from "../../packages/gateway/src/request/own-parts.ts";
import { messagesDialect } from "../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import { responsesDialect } from "../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import { anthropicMessages } from "../../packages/testkit/src/endpoint/anthropic-messages.ts";
import { openAiResponses } from "../../packages/testkit/src/endpoint/openai-responses.ts";
import type { Frame, ReplyContext, ReplyStep } from "../../packages/testkit/src/endpoint/script.ts";
import { errorBody } from "../servers/errors.ts";
import { Bench, governed, user, type Answer } from "./exchange-bench.ts";

type Writer = (step: ReplyStep, context: ReplyContext) => Frame[];

/** An answer with a diagnosis, if any. */
function answers(write: Writer, index: number, cacheDiagnostics?: unknown): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const usage = { input: 40, output: 7 };
    const frames = write({ text: "Free.", cacheDiagnostics }, { index, model: "m", usage });
    response.end(frames.map(({ event = "", data }) => `event: ${event}\ndata: ${data}\n\n`).join(""));
  };
}

const TOOLS = [{ name: "Read", description: "Reads.", input_schema: { type: "object" } }];
const CLAUDE = {
  model: "claude-opus-5-5",
  max_tokens: 100,
  stream: true,
  system: "rules",
  tools: TOOLS,
  messages: ["one", "two"].flatMap((content) => [
    { role: "user", content },
    ...(content === "one" ? [{ role: "assistant", content: "first" }] : []),
  ]),
};
const KEY = { path: "/messages", headers: { "x-api-key": "key-of-test" } };
const CHANGED = { cache_miss_reason: { type: "messages_changed", cache_missed_input_tokens: 77 } };

function withPrevious(previousResponseId?: string): ReturnType<typeof governed> {
  const shown = governed(user("SUMMARY"), user("two"));
  return previousResponseId === undefined
    ? shown
    : { ...shown, context: { ...shown.context, previousResponseId } };
}

function sentBodies(bench: Bench): Record<string, unknown>[] {
  return bench.seen.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
}

describe("a spliced request of the Messages API", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("asks for the diagnosis at the provider's own endpoint, and its answer has it", async () => {
    bench = new Bench("anthropic-messages", { diagnosesCache: true });
    const previous = [undefined, "msg_0"];
    await bench.open(
      { main: async () => withPrevious(previous.shift()) },
      answers(anthropicMessages, 0),
      answers(anthropicMessages, 1, CHANGED),
    );
    for (let turn = 0; turn < 2; turn++) await (await bench.ask(JSON.stringify(CLAUDE), KEY)).text();
    assert.deepEqual(
      sentBodies(bench).map((body) => body["diagnostics"]),
      [{ previous_message_id: null }, { previous_message_id: "msg_0" }],
    );
    assert.deepEqual(
      bench.answers.map(({ cache }) => cache),
      [
        { responseId: "msg_0" },
        { responseId: "msg_1", diagnosis: { reason: "messages_changed", missedTokens: 77 } },
      ],
    );
  });

  it("keeps its members elsewhere, with a login by subscription, with a question of its own, and unchanged", async () => {
    const own = { ...CLAUDE, diagnostics: { previous_message_id: "msg_own" } };
    const bearer = { path: "/messages", headers: { authorization: "Bearer login" } };
    const cases = [
      { diagnosesCache: false, body: CLAUDE, more: KEY, isGoverned: true },
      { diagnosesCache: true, body: CLAUDE, more: bearer, isGoverned: true },
      { diagnosesCache: true, body: own, more: KEY, isGoverned: true },
      { diagnosesCache: true, body: CLAUDE, more: KEY, isGoverned: false },
    ];
    for (const { diagnosesCache, body, more, isGoverned } of cases) {
      bench = new Bench("anthropic-messages", { diagnosesCache });
      const main = async () => (isGoverned ? withPrevious("msg_0") : undefined);
      await bench.open({ main }, answers(anthropicMessages, 1, CHANGED));
      await (await bench.ask(JSON.stringify(body), more)).text();
      const [sent] = sentBodies(bench);
      assert.deepEqual(sent?.["diagnostics"], (body as Partial<typeof own>).diagnostics);
      assert.deepEqual(
        bench.answers.map(({ cache }) => cache),
        [{ diagnosis: { reason: "messages_changed", missedTokens: 77 } }],
        "what the provider reports anyway is read, without an id to compare with",
      );
      await bench.end();
    }
  });

  it("is sent again without the question if the endpoint rejects it, and the program does not see that", async () => {
    bench = new Bench("anthropic-messages", { diagnosesCache: true });
    const rejects: Answer = (response) => {
      response.writeHead(400, { "content-type": "application/json" });
      const reason = "diagnostics: Extra inputs are not permitted";
      response.end(JSON.stringify(errorBody("anthropic-messages", 400, reason)));
    };
    await bench.open({ main: async () => withPrevious("msg_0") }, rejects, answers(anthropicMessages, 1));
    for (let turn = 0; turn < 2; turn++) {
      const response = await bench.ask(JSON.stringify(CLAUDE), KEY);
      assert.equal(response.status, 200);
      assert.match(await response.text(), /message_stop/);
    }
    assert.deepEqual(
      sentBodies(bench).map((body) => "diagnostics" in body),
      [true, false, false],
    );
    assert.deepEqual(
      bench.answers.map(({ isComplete, cache }) => [isComplete, cache]),
      [
        [true, undefined],
        [true, undefined],
      ],
    );
  });
});

describe("a spliced request of the Responses API", () => {
  it("asks for the diagnosis once there is an answer to compare with", async () => {
    const bench = new Bench("openai-responses", { diagnosesCache: true });
    const input = [
      { type: "message", role: "user", content: [{ type: "input_text", text: "one" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "first" }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "two" }] },
    ];
    const body = JSON.stringify({ model: "gpt-5.6-terra", stream: true, instructions: "rules", input });
    const miss = { type: "cache_miss", reason: "input_changed", cache_missed_tokens: 900 };
    try {
      const previous = [undefined, "resp_0"];
      await bench.open(
        { main: async () => withPrevious(previous.shift()) },
        answers(openAiResponses, 0),
        answers(openAiResponses, 1, miss),
      );
      for (let turn = 0; turn < 2; turn++) await (await bench.ask(body, { path: "/responses" })).text();
      assert.deepEqual(
        sentBodies(bench).map((sent) => sent["prompt_cache_options"]),
        [undefined, { comparison_response_id: "resp_0" }],
      );
      assert.deepEqual(
        bench.answers.map(({ cache }) => cache),
        [
          { responseId: "resp_0" },
          { responseId: "resp_1", diagnosis: { reason: "input_changed", missedTokens: 900 } },
        ],
      );
    } finally {
      await bench.end();
    }
  });
});

describe("the parts of a program's own in a request", () => {
  const partsOf = (request: WireRequest): OwnParts => ownPartsOf(request) ?? assert.fail("no parts");
  const parts = (body: object): OwnParts =>
    partsOf(messagesDialect.read("/messages", {}, Buffer.from(JSON.stringify(body))));

  it("have digests that change with the system prompt and the tools alone", () => {
    const before = parts(CLAUDE);
    assert.deepEqual(parts({ ...CLAUDE, messages: [{ role: "user", content: "other" }] }), before);
    const otherSystem = parts({ ...CLAUDE, system: "other rules" });
    assert.notEqual(otherSystem.system, before.system);
    assert.equal(otherSystem.tools, before.tools);
    const otherTools = parts({ ...CLAUDE, tools: [...TOOLS, { ...TOOLS[0], name: "Write" }] });
    assert.notEqual(otherTools.tools, before.tools);
    assert.equal(otherTools.system, before.system);
  });

  it("are the same with other cache marks and another billing line", () => {
    const system = (billing: string, mark: object): object[] => [
      { type: "text", text: `x-anthropic-billing-header: cc_version=2.1.330; cch=${billing};` },
      { type: "text", text: "rules", ...mark },
    ];
    assert.deepEqual(
      parts({ ...CLAUDE, system: system("a1", { cache_control: { type: "ephemeral" } }) }),
      parts({ ...CLAUDE, system: system("b2", { cache_control: { type: "ephemeral", ttl: "1h" } }) }),
    );
    const unmarked = { ...CLAUDE, system: system("a1", {}) };
    assert.deepEqual(
      parts(unmarked),
      parts({ ...CLAUDE, system: system("a1", { cache_control: { type: "ephemeral" } }) }),
    );
  });

  it("have the instructions and leading developer messages of the Responses API", () => {
    const read = (instructions: string, developer: string): OwnParts => {
      const message = (role: string, text: string) => ({
        type: "message",
        role,
        content: [{ type: "input_text", text }],
      });
      const input = [message("developer", developer), message("user", "one")];
      const body = { model: "m", instructions, input, tools: [] };
      return partsOf(responsesDialect.read("/responses", {}, Buffer.from(JSON.stringify(body))));
    };
    assert.notEqual(read("a", "x").system, read("b", "x").system);
    assert.notEqual(read("a", "x").system, read("a", "y").system);
  });
});
