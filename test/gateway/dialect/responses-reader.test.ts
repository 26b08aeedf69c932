import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type { WireAnswer } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { openAiResponses } from "../../../packages/testkit/src/endpoint/openai-responses.ts";
import type { ReplyStep } from "../../servers/script.ts";
import { runs } from "../../runner/short-form.ts";

const STREAM = { "content-type": "text/event-stream; charset=utf-8" };
const JSON_TYPE = { "content-type": "application/json" };

function stream(step: ReplyStep, end = "\n"): Buffer {
  const usage = { input: 70, output: 20, cacheRead: 30, reasoning: 5 };
  const frames = openAiResponses(step, { index: 0, model: "gpt", usage });
  return Buffer.from(
    frames
      .map(({ event, data }) => `event: ${event}${end}data: ${data}${end}${end}`)
      .join(`: ping${end}${end}`),
  );
}

function answer(
  bytes: Buffer,
  cuts: readonly number[] = [],
  status = 200,
  headers: object = STREAM,
): WireAnswer {
  const reader = responsesDialect.reader(status, { ...headers });
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  for (const [index, from] of [0, ...at].entries())
    reader.take(bytes.subarray(from, at[index] ?? bytes.length));
  return reader.end();
}

const STEP: ReplyStep = {
  thinking: { text: "Hm, thinking ümlaut 😀.", signature: "ENC" },
  text: "The answer: é😀.",
  toolCalls: [
    { id: "c1", name: "exec_command", arguments: { cmd: "ls" } },
    { id: "c2", name: "spawn_agent", namespace: "multi_agent_v1", arguments: {} },
  ],
};
const USAGE = { input: 70, output: 20, cacheRead: 30, reasoning: 5, totalTokens: 120 };
const WHOLE: WireAnswer = {
  message: {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Hm, thinking ümlaut 😀." },
      { type: "text", text: "The answer: é😀." },
      { type: "toolCall", id: "c1", name: "exec_command", arguments: { cmd: "ls" } },
      { type: "toolCall", id: "c2", name: "multi_agent_v1__spawn_agent", arguments: {} },
    ],
    model: "gpt",
    usage: USAGE,
    stopReason: "toolUse",
  },
  isComplete: true,
  usage: USAGE,
  cache: { responseId: "resp_0" },
};

describe("reading a model's answer in the Responses API", () => {
  it("text, thinking and calls in order, with usage, in any chunks and line ends", () => {
    const cut = fc.tuple(fc.array(fc.nat(20_000), { maxLength: 40 }), fc.constantFrom("\n", "\r\n", "\r"));
    fc.assert(
      fc.property(cut, ([cuts, end]) => {
        assert.deepEqual(answer(stream(STEP, end), cuts), WHOLE);
      }),
    );
  });

  it("a cut stream gives its partial content, and is incomplete", () => {
    const bytes = stream({ ...STEP, chunkSize: 3 });
    const result = "Hm, thinking ümlaut 😀.";
    for (let end = 0; end < bytes.length; end += 37) {
      const { message, isComplete, error } = answer(bytes.subarray(0, end));
      if (isComplete) assert.ok(end > bytes.length - 40);
      assert.equal(error, undefined);
      const [thinking, text] = message.content;
      // Half of a surrogate pair is not known to be one.
      const whole = thinking?.type === "thinking" ? thinking.thinking.replace(/\uFFFD$/, "") : "";
      assert.ok(result.startsWith(whole));
      if (text?.type === "text") assert.ok("The answer: é😀.".startsWith(text.text.replace(/\uFFFD$/, "")));
      if (!isComplete) assert.equal(message.stopReason, undefined);
    }
    const half = bytes.subarray(0, bytes.indexOf("response.output_text.done"));
    assert.deepEqual(answer(half).message.content, WHOLE.message.content.slice(0, 2));
  });

  it("an answer without a stream is read the same", () => {
    const text = stream(STEP).toString();
    const data = text.slice(text.lastIndexOf("data: ") + 6);
    const { response } = JSON.parse(data) as { response: unknown };
    assert.deepEqual(answer(Buffer.from(JSON.stringify(response)), [10, 20], 200, JSON_TYPE), WHOLE);
  });

  it("the stop reason is read", () => {
    assert.equal(answer(stream({ text: "done" })).message.stopReason, "stop");
    const cut = answer(stream({ text: "to be con", stop: "length" }));
    assert.deepEqual([cut.message.stopReason, cut.isComplete], ["length", true]);
  });

  it("an event without JSON, or of an unknown kind, is skipped; one that is cut is named", () => {
    const text = stream({ text: "done" }).toString();
    const junk = 'event: x\ndata: ping\n\ndata: [DONE]\n\ndata: {"type":"response.new.thing","item":3}\n\n';
    const whole = answer(Buffer.from(text));
    assert.deepEqual(answer(Buffer.from(junk + text + junk)), whole);
    const cut = answer(Buffer.from(`data: {"oops\n\n${text}`));
    assert.deepEqual(cut, { ...whole, degraded: ["an event that is no JSON"] });
  });

  it("errors in the stream are reported, and whether the context was too long", () => {
    const failed = answer(stream({ text: "half", errorEvent: { code: "server_error", message: "Sorry." } }));
    assert.deepEqual(failed.error, { message: "Sorry.", code: "server_error", overflow: false });
    assert.deepEqual([failed.isComplete, failed.message.stopReason], [false, "error"]);
    assert.deepEqual(failed.message.content, [{ type: "text", text: "half" }]);
    const long = answer(
      stream({
        errorEvent: { code: "context_length_exceeded", message: "Your input exceeds the context window." },
      }),
    );
    assert.equal(long.error?.overflow, true);
    const events = [
      { type: "error", code: "rate_limit_exceeded", message: "Slow down.", param: null },
      { type: "error", error: { type: "rate_limit_exceeded", message: "Slow down." } },
    ];
    for (const event of events) {
      const result = answer(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
      assert.deepEqual(result.error, { message: "Slow down.", code: "rate_limit_exceeded", overflow: false });
    }
  });

  it("errors instead of a stream are read, in every form that providers use", () => {
    const overflow = {
      error: { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" },
    };
    const errorOf = (body: string, status: number, headers: object = JSON_TYPE) =>
      answer(Buffer.from(body), [3], status, headers).error;
    assert.deepEqual(errorOf(JSON.stringify(overflow), 400), {
      message: "too long",
      code: "context_length_exceeded",
      overflow: true,
    });
    assert.equal(errorOf('{"error":{"message":"no","type":"auth"}}', 401)?.code, "auth");
    assert.equal(errorOf('{"detail":"Not allowed"}', 403)?.message, "Not allowed");
    assert.equal(
      errorOf("<html>Bad gateway</html>", 502, { "content-type": "text/html" })?.message,
      "The provider answered with status 502 and no reason.",
    );
    assert.equal(errorOf("", 500)?.message, "The provider answered with status 500 and no reason.");
    assert.equal(errorOf("x".repeat(100_000), 500)?.message.length, 2_000);
    assert.equal(errorOf('{"error":{"message":"in a success"}}', 200)?.message, "in a success");
  });

  it("it never throws, whatever comes", () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((list) => Buffer.from(list));
    const mutated = fc.tuple(fc.nat(5000), fc.nat(255)).map(([at, byte]) => {
      const whole = stream(STEP);
      whole[at % whole.length] = byte;
      return whole;
    });
    const headers = fc.constantFrom(STREAM, JSON_TYPE, {});
    fc.assert(
      fc.property(fc.oneof(bytes, mutated), headers, fc.constantFrom(200, 429), (bytes, head, status) => {
        const result = answer(bytes, [7], status, head);
        assert.equal(result.message.role, "assistant");
      }),
      { numRuns: runs(1000) },
    );
  });

  it("items with fields of unexpected types are read without a throw", () => {
    const events = [
      { type: "response.output_item.done", output_index: "0", item: null },
      { type: "response.output_item.done", item: { type: "message", content: 3 } },
      { type: "response.output_text.delta", delta: 4 },
      { type: "response.completed", response: { output: {}, usage: { input_tokens: "x" } } },
    ];
    const result = answer(Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")));
    assert.deepEqual([result.isComplete, result.usage, result.error], [true, undefined, undefined]);
  });
});
