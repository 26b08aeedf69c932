/** Answers of the Chat Completions API: read while they pass, and written by the gateway itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AssistantMessage, Usage } from "../../../packages/contract/src/message.ts";
import { completionsDialect as dialect } from "../../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import type {
  WireAnswer,
  WireFault,
  WireRequest,
} from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import type { ModelPart } from "../../../packages/core/src/model/provider-types.ts";
import { openAiCompletions } from "../../../packages/testkit/src/endpoint/openai-completions.ts";
import type { ReplyStep } from "../../../packages/testkit/src/endpoint/script.ts";
import { runs } from "../../runner/short-form.ts";

const EVENTS = { "content-type": "text/event-stream; charset=utf-8" };
const JSON_TYPE = { "content-type": "application/json" };
const USAGE: Usage = { input: 70, output: 9, cacheRead: 30, reasoning: 2, totalTokens: 109 };

function bytes(step: ReplyStep): Buffer {
  const usage = { input: 70, output: 9, cacheRead: 30, reasoning: 2 };
  const frames = openAiCompletions(step, { index: 0, model: "m-1", usage });
  return Buffer.from(frames.map(({ data }) => `data: ${data}\n\n`).join(""));
}

function readAs(headers: Record<string, string>, body: Buffer | string, status = 200): WireAnswer {
  const reader = dialect.reader(status, headers);
  reader.take(Buffer.from(body));
  return reader.end();
}

function chunks(...deltas: unknown[]): string {
  const choices = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  return [...choices, end].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
}

function callsIn({ message }: WireAnswer): unknown[] {
  return message.content.map((part) =>
    part.type === "toolCall" ? [part.id, part.name, part.arguments] : part.type,
  );
}

const STEP: ReplyStep = {
  thinking: { text: "Where could a wörd be? 🦀" },
  text: "I look behind the pier and in the töwer.",
  toolCalls: [
    { id: "call_1", name: "look", arguments: { at: "pier" } },
    { id: "call_2", name: "look", arguments: { at: "tower", far: true } },
  ],
  chunkSize: 7,
};
const ANSWER: AssistantMessage = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: "Where could a wörd be? 🦀" },
    { type: "text", text: "I look behind the pier and in the töwer." },
    { type: "toolCall", id: "call_1", name: "look", arguments: { at: "pier" } },
    { type: "toolCall", id: "call_2", name: "look", arguments: { at: "tower", far: true } },
  ],
  model: "m-1",
  usage: USAGE,
  stopReason: "toolUse",
};

describe("an answer of the Chat Completions API", () => {
  it("is the same for any chunk boundaries of the stream", () => {
    const whole = bytes(STEP);
    assert.deepEqual(readAs(EVENTS, whole), { message: ANSWER, isComplete: true, usage: USAGE });
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(whole.length), { maxLength: 40 }), fc.boolean(), (cuts, isNamed) => {
        const reader = dialect.reader(200, isNamed ? EVENTS : {});
        const places = [0, ...cuts.sort((a, b) => a - b), whole.length];
        for (const [index, at] of places.slice(1).entries()) {
          // The buffer is reused, like a socket's.
          const chunk = Buffer.from(whole.subarray(places[index], at));
          reader.take(chunk);
          chunk.fill(0);
        }
        assert.deepEqual(reader.end().message, ANSWER);
      }),
      { numRuns: runs(300), seed: 8 },
    );
  });

  it("is incomplete without its end, and reading never throws for changed or missing bytes", () => {
    assert.equal(readAs(EVENTS, bytes({ ...STEP, omitEnd: true })).isComplete, false);
    const whole = bytes(STEP);
    const end = whole.indexOf('"finish_reason":"tool_calls"');
    fc.assert(
      fc.property(
        fc.nat(whole.length),
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 }),
        (cut, changes) => {
          const cutShort = readAs(EVENTS, whole.subarray(0, cut));
          // The end of the stream is as good as the empty line.
          assert.equal(cutShort.isComplete, cut >= whole.indexOf("\n\n", end), `cut at ${cut}`);
          const changed = Buffer.from(whole);
          for (const [at, byte] of changes) changed[at] = byte;
          for (const headers of [EVENTS, JSON_TYPE, {}])
            assert.ok(Array.isArray(readAs(headers, changed).message.content));
        },
      ),
      { numRuns: runs(500), seed: 8 },
    );
  });

  it("is also read from one JSON body", () => {
    const [text, look] = [ANSWER.content[1], ANSWER.content[2]];
    assert.ok(text?.type === "text" && look?.type === "toolCall");
    const message = {
      role: "assistant",
      content: text.text,
      tool_calls: [{ id: look.id, type: "function", function: { name: "look", arguments: '{"at":"pier"}' } }],
    };
    const body = { model: "m-1", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
    for (const headers of [JSON_TYPE, {}]) {
      const reader = dialect.reader(200, headers);
      const bytes = Buffer.from(` ${JSON.stringify(body)}`);
      for (const chunk of [bytes.subarray(0, 1), bytes.subarray(1, 70), bytes.subarray(70)]) {
        const used = Buffer.from(chunk);
        reader.take(used);
        used.fill(0);
      }
      const answer = reader.end();
      assert.deepEqual(answer.message, {
        role: "assistant",
        content: [text, look],
        model: "m-1",
        stopReason: "toolUse",
      });
      assert.equal(answer.isComplete, true);
    }
  });

  it("separates calls of a server without an index, or with the same one for all", () => {
    const piece = (id: string | undefined, more: object, args: string): object => ({
      ...more,
      ...(id === undefined ? {} : { id }),
      function: { ...(id === undefined ? {} : { name: `tool_${id}` }), arguments: args },
    });
    for (const more of [{ index: 0 }, {}]) {
      const stream = chunks(
        { tool_calls: [piece("a", more, '{"n":')] },
        { tool_calls: [piece(undefined, more, "1}")] },
        { tool_calls: [piece("b", more, '{"n":2}')] },
      );
      assert.deepEqual(callsIn(readAs(EVENTS, stream)), [
        ["a", "tool_a", { n: 1 }],
        ["b", "tool_b", { n: 2 }],
      ]);
    }
    const both = { tool_calls: [piece("a", {}, "{}"), piece("b", {}, "{}")] };
    assert.equal(callsIn(readAs(EVENTS, chunks(both))).length, 2);
    const object = { tool_calls: [{ index: 0, id: "a", function: { name: "t", arguments: { n: 1 } } }] };
    assert.deepEqual(callsIn(readAs(EVENTS, chunks(object))), [["a", "t", { n: 1 }]]);
  });

  it("ends as the server reports: at the limit, or by its filter", () => {
    assert.equal(readAs(EVENTS, bytes({ text: "x", stop: "length" })).message.stopReason, "length");
    const refused = readAs(EVENTS, bytes({ text: "x", stop: "refused" }));
    assert.equal(refused.message.stopReason, "error");
    assert.equal(refused.isComplete, true);
  });

  it("is an error with the server's message, in a stream or instead of one", () => {
    const inStream = readAs(
      EVENTS,
      bytes({ text: "Hm.", errorEvent: { code: "boom", message: "It broke." } }),
    );
    assert.deepEqual(inStream.error, { message: "It broke.", code: "boom", overflow: false });
    assert.equal(inStream.isComplete, false);
    assert.deepEqual(inStream.message.content, [{ type: "text", text: "Hm." }]);
    assert.deepEqual(readAs(JSON_TYPE, '{"error":"no such model"}', 404).error, {
      message: "no such model",
      overflow: false,
    });
    assert.deepEqual(readAs({}, "<html>Bad gateway</html>", 502).error, {
      message: "The provider answered with status 502 and no reason.",
      overflow: false,
    });
  });

  const overflows: Record<string, [number, unknown]> = {
    OpenAI: [
      400,
      {
        error: {
          message: "This model's maximum context length is 8192 tokens.",
          type: "invalid_request_error",
          code: "context_length_exceeded",
        },
      },
    ],
    "llama.cpp": [
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size",
          type: "exceed_context_size_error",
        },
      },
    ],
    vLLM: [
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000.",
        type: "BadRequestError",
        code: 400,
      },
    ],
    "LM Studio": [
      200,
      { error: "The number of tokens to keep from the initial prompt is greater than the context length." },
    ],
    "a proxy": [413, "prompt is too long: 250000 tokens > 200000 maximum"],
  };
  for (const [server, [status, body]] of Object.entries(overflows)) {
    it(`is a context overflow in the form of ${server}`, () => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      assert.equal(readAs({}, text, status).error?.overflow, true);
      if (status === 200)
        assert.equal(readAs(EVENTS, `event: error\ndata: ${text}\n\n`).error?.overflow, true);
      assert.equal(readAs({}, text, 429).error?.overflow, false);
    });
  }
});

describe("an answer that the gateway writes in the Chat Completions API", () => {
  function request(more: object = {}): WireRequest {
    const body = { model: "m-1", messages: [{ role: "user", content: "x" }], ...more };
    return dialect.read("/chat/completions", {}, Buffer.from(JSON.stringify(body)));
  }
  const STREAM = { stream: true, stream_options: { include_usage: true } };

  it("is read back unchanged, as events or as JSON", () => {
    for (const more of [STREAM, {}]) {
      const { status, headers, body } = dialect.answer(request(more), "A summary.", USAGE);
      assert.deepEqual(readAs(headers, body, status), {
        message: {
          role: "assistant",
          content: [{ type: "text", text: "A summary." }],
          model: "m-1",
          usage: USAGE,
          stopReason: "stop",
        },
        isComplete: true,
        usage: USAGE,
      });
    }
  });

  it("contains usage in a stream only if the client asked for it", () => {
    const { headers, body } = dialect.answer(request({ stream: true }), "A summary.", USAGE);
    assert.equal(readAs(headers, body).usage, undefined);
    assert.match(body.toString(), /data: \[DONE\]\n\n$/);
  });

  const parts: ModelPart[] = [
    { type: "retry", attempt: 1, delayMs: 0, reason: "busy" },
    { type: "thinking", delta: "Where could a wörd " },
    { type: "thinking", delta: "be? 🦀" },
    { type: "text", delta: "I look behind the pier " },
    { type: "text", delta: "and in the töwer." },
    { type: "finish", message: ANSWER },
  ];

  for (const more of [STREAM, {}]) {
    it(`contains text, thinking and calls as a model's parts come, ${"stream" in more ? "as events" : "as JSON"}`, () => {
      const writer = dialect.writer(request(more));
      const written = parts.map((part) => writer.write(part));
      assert.equal(written[0]?.length, 0, "a retry before the first word");
      assert.equal((written[1]?.length ?? 0) > 0, "stream" in more);
      const answer = readAs(writer.head.headers, Buffer.concat(written), writer.head.status);
      assert.deepEqual(answer, { message: ANSWER, isComplete: true, usage: USAGE });
      assert.equal(writer.fail("too late").length, 0);
    });
  }

  it("is written if it came in one piece", () => {
    const writer = dialect.writer(request(STREAM));
    const message: AssistantMessage = { role: "assistant", content: [{ type: "text", text: "At once." }] };
    assert.deepEqual(
      readAs(EVENTS, writer.write({ type: "finish", message })).message.content,
      message.content,
    );
  });

  it("fails with an error event, and ends there", () => {
    for (const more of [STREAM, {}]) {
      const writer = dialect.writer(request(more));
      const begun = writer.write({ type: "text", delta: "Hm" });
      const answer = readAs(writer.head.headers, Buffer.concat([begun, writer.fail("It broke.")]));
      assert.equal(answer.error?.message, "It broke.");
      assert.equal(answer.isComplete, false);
      assert.equal(writer.write({ type: "finish", message: ANSWER }).length, 0);
    }
    const writer = dialect.writer(request(STREAM));
    writer.write({ type: "text", delta: "Hm" });
    assert.match(
      writer.write({ type: "retry", attempt: 1, delayMs: 0, reason: "cut" }).toString(),
      /"error"/,
    );
  });

  it("has a status and the API's message for each failure, and its overflow is recognized", () => {
    const faults: Record<WireFault, number> = {
      bad_request: 400,
      unauthorized: 401,
      not_found: 404,
      too_large: 413,
      overloaded: 503,
      context_overflow: 400,
      cost_limit: 402,
      upstream_failed: 502,
      internal: 500,
    };
    for (const [code, status] of Object.entries(faults)) {
      const reply = dialect.fault(code as WireFault, `Told: ${code}.`);
      assert.equal(reply.status, status);
      const { error } = readAs(reply.headers, reply.body, reply.status);
      assert.equal(error?.message, `Told: ${code}.`);
      assert.equal(error.overflow, code === "context_overflow");
    }
  });
});
