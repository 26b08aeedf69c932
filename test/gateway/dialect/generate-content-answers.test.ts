/** Answers of Google's generateContent API: read while they pass, and written by the gateway itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AssistantMessage, Usage } from "../../../packages/contract/src/message.ts";
import { generateContentDialect as dialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type {
  WireAnswer,
  WireFault,
  WireRequest,
} from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import type { ModelPart } from "../../../packages/core/src/model/provider-types.ts";
import { google, wholeGoogle } from "../../../packages/testkit/src/endpoint/google.ts";
import type { Frame, ReplyStep } from "../../../packages/testkit/src/endpoint/script.ts";
import { runs } from "../../runner/short-form.ts";

type Json = Record<string, unknown>;

const EVENTS = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json; charset=UTF-8" };
const USAGE: Usage = { input: 70, output: 9, cacheRead: 30, reasoning: 2, totalTokens: 109 };

function framesOf(step: ReplyStep): Frame[] {
  const usage = { input: 70, output: 9, cacheRead: 30, reasoning: 2 };
  return google(step, { index: 0, model: "gemini-3-pro", usage });
}

function eventsOf(frames: readonly Frame[]): Buffer {
  return Buffer.from(frames.map(({ data }) => `data: ${data}\r\n\r\n`).join(""));
}

/** As the API writes a stream without `alt=sse`. */
function listOf(frames: readonly Frame[]): Buffer {
  return Buffer.from(
    `[${frames.map(({ data }) => JSON.stringify(JSON.parse(data), undefined, 2)).join("\n,\r\n")}\n]\n`,
  );
}

function readAs(headers: Record<string, string>, body: Buffer | string, status = 200): WireAnswer {
  const reader = dialect.reader(status, headers);
  reader.take(Buffer.from(body));
  return reader.end();
}

const STEP: ReplyStep = {
  thinking: { text: "Where could a wörd be? 🦀" },
  text: "I look behind the pier and in the töwer.",
  toolCalls: [
    { id: "call_1", name: "look", arguments: { at: "pier" }, signature: "c2ln" },
    { id: "call_2", name: "look", arguments: { at: "tower", far: true } },
  ],
  chunkSize: 7,
};
const ANSWER: AssistantMessage = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: "Where could a wörd be? 🦀" },
    { type: "text", text: "I look behind the pier and in the töwer." },
    { type: "toolCall", id: "call_1", name: "look", arguments: { at: "pier" }, signature: "c2ln" },
    { type: "toolCall", id: "call_2", name: "look", arguments: { at: "tower", far: true } },
  ],
  model: "gemini-3-pro",
  usage: USAGE,
  stopReason: "toolUse",
};
const WHOLE = { message: ANSWER, isComplete: true, usage: USAGE };

function chunk(parts: unknown, more: Json = {}): Frame {
  return { data: JSON.stringify({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }] }) };
}

describe("an answer of the generateContent API", () => {
  it("is the same as events, as one JSON list, and as one JSON body", () => {
    const frames = framesOf(STEP);
    assert.deepEqual(readAs(EVENTS, eventsOf(frames)), WHOLE);
    for (const headers of [JSON_TYPE, {}]) {
      assert.deepEqual(readAs(headers, listOf(frames)), WHOLE);
      assert.deepEqual(readAs(headers, JSON.stringify(wholeGoogle(frames))), WHOLE);
    }
  });

  it("is the same for any chunk boundaries", () => {
    const frames = framesOf(STEP);
    for (const [headers, whole] of [
      [EVENTS, eventsOf(frames)],
      [JSON_TYPE, listOf(frames)],
    ] as const)
      fc.assert(
        fc.property(
          fc.uniqueArray(fc.nat(whole.length), { maxLength: 40 }),
          fc.boolean(),
          (cuts, isNamed) => {
            const reader = dialect.reader(200, isNamed ? headers : {});
            const places = [0, ...cuts.sort((a, b) => a - b), whole.length];
            for (const [index, at] of places.slice(1).entries()) {
              // The buffer is reused, like a socket's.
              const piece = Buffer.from(whole.subarray(places[index], at));
              reader.take(piece);
              piece.fill(0);
            }
            assert.deepEqual(reader.end().message, ANSWER);
          },
        ),
        { numRuns: runs(300), seed: 8 },
      );
  });

  it("is incomplete without its end, and reading never throws for changed or missing bytes", () => {
    const cutOff = framesOf({ ...STEP, omitEnd: true });
    assert.equal(readAs(EVENTS, eventsOf(cutOff)).isComplete, false);
    assert.equal(readAs(JSON_TYPE, listOf(cutOff)).isComplete, false);
    const whole = eventsOf(framesOf(STEP));
    const list = listOf(framesOf(STEP));
    fc.assert(
      fc.property(
        fc.nat(whole.length),
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 }),
        (cut, changes) => {
          // The end of the stream is as good as the line ends of its last event.
          const isWhole = cut >= whole.length - 4;
          assert.equal(readAs(EVENTS, whole.subarray(0, cut)).isComplete, isWhole, `cut at ${cut}`);
          const cutList = readAs(JSON_TYPE, list.subarray(0, Math.min(cut, list.length - 3)));
          assert.equal(cutList.isComplete, false);
          const changed = Buffer.from(whole);
          for (const [at, byte] of changes) changed[at] = byte;
          for (const headers of [EVENTS, JSON_TYPE, {}])
            assert.ok(Array.isArray(readAs(headers, changed).message.content));
        },
      ),
      { numRuns: runs(500), seed: 8 },
    );
    const words = readAs(JSON_TYPE, list.subarray(0, list.length - 300)).message.content;
    assert.ok(
      words.some(({ type }) => type === "text"),
      "a list that was cut has its first chunks",
    );
  });

  it("joins text around thoughts, as clients that drop them do", () => {
    const frames = [
      chunk([{ text: "One" }]),
      chunk([
        { text: "Hm.", thought: true },
        { text: "", thoughtSignature: "c2ln" },
      ]),
      chunk([{ text: " two." }], { finishReason: "STOP" }),
    ];
    assert.deepEqual(readAs(EVENTS, eventsOf(frames)).message.content, [
      { type: "text", text: "One two." },
      { type: "thinking", thinking: "Hm." },
    ]);
  });

  it("ends as the API reports: at the limit, by a filter, or with a prompt that is blocked", () => {
    const ended = (finishReason: string, parts: unknown = [{ text: "x" }]): WireAnswer =>
      readAs(EVENTS, eventsOf([chunk(parts, { finishReason })]));
    assert.equal(ended("MAX_TOKENS").message.stopReason, "length");
    assert.equal(ended("A_NEW_REASON").message.stopReason, "stop");
    for (const reason of ["SAFETY", "RECITATION", "PROHIBITED_CONTENT"]) {
      const { message, isComplete } = ended(reason);
      assert.deepEqual([message.stopReason, isComplete], ["error", true]);
      assert.match(message.errorMessage ?? "", new RegExp(reason));
    }
    const blocked = readAs(JSON_TYPE, JSON.stringify({ promptFeedback: { blockReason: "SAFETY" } }));
    assert.deepEqual([blocked.message.stopReason, blocked.isComplete], ["error", true]);
  });

  it("is incomplete where clients ask again: without content, or with a call that is none", () => {
    const ended = (finishReason: string, parts: unknown): boolean =>
      readAs(EVENTS, eventsOf([chunk(parts, { finishReason })])).isComplete;
    assert.equal(ended("STOP", []), false);
    assert.equal(ended("STOP", [{ text: "Hm.", thought: true }]), false);
    assert.equal(ended("MALFORMED_FUNCTION_CALL", []), false);
    assert.equal(ended("STOP", [{ functionCall: { name: "look" } }]), true);
  });

  it("counts thoughts as output, and the prompts of tools as input", () => {
    const counts = {
      promptTokenCount: 100,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 2,
      toolUsePromptTokenCount: 5,
      totalTokenCount: 114,
    };
    const first = {
      data: JSON.stringify({ usageMetadata: { promptTokenCount: 100, totalTokenCount: 100 } }),
    };
    const last = { data: JSON.stringify({ usageMetadata: counts }) };
    assert.deepEqual(readAs(EVENTS, eventsOf([first, last])).usage, {
      input: 75,
      output: 9,
      cacheRead: 30,
      reasoning: 2,
      totalTokens: 114,
    });
  });
});

describe("an error of the generateContent API", () => {
  const error = (code: number, message: string, status: string): Json => ({
    error: { code, message, status },
  });

  it("has the API's message, in a stream or instead of one", () => {
    const step = { text: "Hm.", errorEvent: { code: "INTERNAL", message: "It broke." } };
    const inStream = readAs(EVENTS, eventsOf(framesOf(step)));
    assert.deepEqual(inStream.error, { message: "It broke.", code: "INTERNAL", overflow: false });
    assert.equal(inStream.isComplete, false);
    assert.deepEqual(inStream.message.content, [{ type: "text", text: "Hm." }]);
    const body = error(404, "models/m is not found", "NOT_FOUND");
    for (const text of [JSON.stringify(body), JSON.stringify([body])])
      assert.deepEqual(readAs(JSON_TYPE, text, 404).error, {
        message: "models/m is not found",
        code: "NOT_FOUND",
        overflow: false,
      });
    assert.match(readAs({}, "<html>Bad gateway</html>", 502).error?.message ?? "", /status 502/);
  });

  it("is an overflow if the input is longer than the model's window, and never for a rate limit", () => {
    const message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    const body = JSON.stringify(error(400, message, "INVALID_ARGUMENT"));
    assert.equal(readAs(JSON_TYPE, body, 400).error?.overflow, true);
    assert.equal(readAs(JSON_TYPE, `[${body}]`, 400).error?.overflow, true);
    assert.equal(readAs(EVENTS, `data: ${body}\n\n`).error?.overflow, true);
    assert.equal(readAs(JSON_TYPE, body, 429).error?.overflow, false);
    const quota = "You exceeded your current quota: input token count, limit 250000 per minute.";
    assert.equal(
      readAs(JSON_TYPE, JSON.stringify(error(429, quota, "RESOURCE_EXHAUSTED")), 429).error?.overflow,
      false,
    );
  });
});

describe("an answer that the gateway writes in the generateContent API", () => {
  const FORMS = {
    events: ":streamGenerateContent?alt=sse",
    list: ":streamGenerateContent",
    body: ":generateContent",
  };

  function request(form: keyof typeof FORMS): WireRequest {
    const body = { contents: [{ role: "user", parts: [{ text: "x" }] }] };
    return dialect.read(`/v1beta/models/gemini-3-pro${FORMS[form]}`, {}, Buffer.from(JSON.stringify(body)));
  }
  const forms = Object.keys(FORMS) as (keyof typeof FORMS)[];

  it("is read back unchanged in each form", () => {
    for (const form of forms) {
      const { status, headers, body } = dialect.answer(request(form), "A summary.", USAGE);
      assert.deepEqual(readAs(headers, body, status), {
        message: {
          role: "assistant",
          content: [{ type: "text", text: "A summary." }],
          model: "gemini-3-pro",
          usage: USAGE,
          stopReason: "stop",
        },
        isComplete: true,
        usage: USAGE,
      });
    }
  });

  const unsigned = {
    ...ANSWER,
    content: ANSWER.content.map((part) => {
      const { signature: _signature, ...rest } = { signature: undefined, ...part };
      return rest as typeof part;
    }),
  };
  const parts: ModelPart[] = [
    { type: "retry", attempt: 1, delayMs: 0, reason: "busy" },
    { type: "thinking", delta: "Where could a wörd " },
    { type: "thinking", delta: "be? 🦀" },
    { type: "text", delta: "I look behind the pier " },
    { type: "text", delta: "and in the töwer." },
    { type: "finish", message: ANSWER },
  ];

  for (const form of forms)
    it(`contains text, thinking and calls as a model's parts come: ${form}`, () => {
      const writer = dialect.writer(request(form));
      const written = parts.map((part) => writer.write(part));
      assert.equal(written[0]?.length, 0, "a retry before the first word");
      assert.equal((written[1]?.length ?? 0) > 0, form !== "body");
      const bytes = Buffer.concat(written);
      if (form !== "events") JSON.parse(bytes.toString());
      const answer = readAs(writer.head.headers, bytes, writer.head.status);
      assert.deepEqual(answer, { message: unsigned, isComplete: true, usage: USAGE });
      assert.equal(writer.fail("too late").length, 0);
    });

  it("is written if it came in one piece", () => {
    const writer = dialect.writer(request("events"));
    const message: AssistantMessage = { role: "assistant", content: [{ type: "text", text: "At once." }] };
    assert.deepEqual(
      readAs(EVENTS, writer.write({ type: "finish", message })).message.content,
      message.content,
    );
  });

  it("fails with an error in each form, and ends there", () => {
    for (const form of forms) {
      const writer = dialect.writer(request(form));
      const begun = writer.write({ type: "text", delta: "Hm" });
      const bytes = Buffer.concat([begun, writer.fail("It broke.")]);
      const answer = readAs(writer.head.headers, bytes);
      assert.equal(answer.error?.message, "It broke.");
      assert.equal(answer.isComplete, false);
      assert.equal(writer.write({ type: "finish", message: ANSWER }).length, 0);
    }
  });

  it("has a status and the API's message for each failure, and its overflow is recognized", () => {
    const faults: Record<WireFault, [number, string]> = {
      bad_request: [400, "INVALID_ARGUMENT"],
      unauthorized: [401, "UNAUTHENTICATED"],
      not_found: [404, "NOT_FOUND"],
      too_large: [413, "INVALID_ARGUMENT"],
      overloaded: [503, "UNAVAILABLE"],
      context_overflow: [400, "INVALID_ARGUMENT"],
      cost_limit: [402, "FAILED_PRECONDITION"],
      upstream_failed: [502, "UNAVAILABLE"],
      internal: [500, "INTERNAL"],
    };
    for (const [code, [status, name]] of Object.entries(faults)) {
      const reply = dialect.fault(code as WireFault, `Said: ${code}.`);
      assert.equal(reply.status, status);
      const { error } = JSON.parse(reply.body.toString()) as { error: Json };
      assert.deepEqual([error["code"], error["status"]], [status, name]);
      const read = readAs(reply.headers, reply.body, reply.status);
      assert.match(read.error?.message ?? "", new RegExp(code));
      assert.equal(read.error?.overflow, code === "context_overflow");
    }
    const limited = dialect.fault("overloaded", "Later.", 429);
    assert.match(limited.body.toString(), /"code":429.*"RESOURCE_EXHAUSTED"/);
  });
});
