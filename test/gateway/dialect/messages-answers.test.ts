/** Answers of the Messages API: read while they pass, and written by the gateway itself. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import type { AssistantMessage } from "../../../packages/contract/src/message.ts";
import { messagesDialect as dialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import { decodingReader } from "../../../packages/gateway/src/request/encoded.ts";
import type { WireAnswer, WireFault } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import type { ModelPart } from "../../../packages/core/src/model/provider-types.ts";
import { readChanged, readRecorded, type Json } from "./messages-recorded.ts";
import { runs } from "../../runner/short-form.ts";

const SSE = { "content-type": "text/event-stream; charset=utf-8" };
const JSON_TYPE = { "content-type": "application/json" };

function events(...all: Json[]): Buffer {
  const lines = all.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`);
  return Buffer.from(lines.join(""));
}

const block = (index: number, content_block: Json): Json => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, type: string, rest: Json): Json => ({
  type: "content_block_delta",
  index,
  delta: { type, ...rest },
});
const stop = (index: number): Json => ({ type: "content_block_stop", index });

const START: Json = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-opus-5-5",
    content: [],
    stop_reason: null,
    usage: {
      input_tokens: 3,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 400,
      output_tokens: 1,
    },
  },
};
const END: Json[] = [
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 50 } },
  { type: "message_stop" },
];
const ALL = events(
  START,
  { type: "ping" },
  block(0, { type: "thinking", thinking: "", signature: "" }),
  delta(0, "thinking_delta", { thinking: "Where is " }),
  delta(0, "thinking_delta", { thinking: "it? 🐚" }),
  delta(0, "signature_delta", { signature: "c2ln" }),
  stop(0),
  block(1, { type: "redacted_thinking", data: "b3BhcXVl" }),
  stop(1),
  block(2, { type: "text", text: "" }),
  delta(2, "text_delta", { text: "I lo" }),
  delta(2, "text_delta", { text: "ok: é" }),
  stop(2),
  block(3, { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} }),
  delta(3, "input_json_delta", { partial_json: '{"query":"x"}' }),
  stop(3),
  block(4, { type: "web_search_tool_result", tool_use_id: "srv_1", content: [] }),
  stop(4),
  block(5, { type: "tool_use", id: "toolu_1", name: "Read", input: {} }),
  delta(5, "input_json_delta", { partial_json: '{"at":"pi' }),
  delta(5, "input_json_delta", { partial_json: 'er"}' }),
  stop(5),
  block(6, { type: "tool_use", id: "toolu_2", name: "List", input: {} }),
  stop(6),
  ...END,
);

const USAGE = { input: 3, output: 50, cacheRead: 400, cacheWrite: 20, totalTokens: 473 };
const CONTENT: AssistantMessage["content"] = [
  { type: "thinking", thinking: "Where is it? 🐚", signature: "c2ln" },
  { type: "thinking", thinking: "", signature: "b3BhcXVl", redacted: true },
  { type: "text", text: "I look: é" },
  { type: "toolCall", id: "toolu_1", name: "Read", arguments: { at: "pier" } },
  { type: "toolCall", id: "toolu_2", name: "List", arguments: {} },
];

function read(chunks: readonly Buffer[], status = 200, headers: Record<string, string> = SSE): WireAnswer {
  const reader = decodingReader(dialect, { status, headers });
  for (const chunk of chunks) reader.take(chunk);
  return reader.end();
}

describe("An answer that passes", () => {
  it("is read with its text, thinking, calls, usage and stop reason", () => {
    assert.deepEqual(read([ALL]), {
      message: {
        role: "assistant",
        content: CONTENT,
        model: "claude-opus-5-5",
        usage: USAGE,
        stopReason: "toolUse",
      },
      isComplete: true,
      usage: USAGE,
      cache: { responseId: "msg_1" },
      degraded: ["a block of the type server_tool_use", "a block of the type web_search_tool_result"],
    });
  });

  it("is the same for any chunk boundaries, also without a content type", () => {
    const whole = read([ALL]);
    fc.assert(
      fc.property(fc.array(fc.nat(ALL.length), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), ALL.length];
        const chunks = at.slice(1).map((end, index) => ALL.subarray(at[index], end));
        assert.deepEqual(read(chunks), whole);
        assert.deepEqual(read(chunks, 200, {}), whole);
      }),
      { numRuns: runs(200) },
    );
  });

  it("that is cut anywhere gives its partial content, never a call with half of its arguments, and is incomplete", () => {
    const text = "I look: é";
    const reason = ALL.indexOf('"stop_reason":"tool_use"');
    const complete = ALL.indexOf("\n", reason);
    for (let end = 0; end < ALL.length - 1; end++) {
      const { message, isComplete, error } = read([ALL.subarray(0, end)]);
      assert.equal(isComplete, end >= complete, "its reason to stop ends it");
      assert.equal(error, undefined);
      for (const [index, part] of message.content.entries()) {
        if (part.type === "toolCall") assert.deepEqual(part, CONTENT[index]);
        if (part.type === "text") assert.ok(text.startsWith(part.text));
      }
    }
  });

  it("is read without a throw, whatever its bytes", () => {
    fc.assert(
      fc.property(fc.nat(ALL.length - 1), fc.uint8Array({ minLength: 1, maxLength: 8 }), (at, noise) => {
        const bytes = Buffer.from(ALL);
        bytes.set(noise.subarray(0, bytes.length - at), at);
        read([bytes]);
        read([bytes], 200, JSON_TYPE);
        read([bytes], 500, JSON_TYPE);
      }),
      { numRuns: runs(500) },
    );
  });

  it("without a stream is read from its body", () => {
    const body = {
      type: "message",
      model: "claude-opus-5-5",
      content: [
        { type: "text", text: "So." },
        { type: "tool_use", id: "toolu_1", name: "Read", input: { at: "pier" } },
      ],
      stop_reason: "max_tokens",
      usage: { input_tokens: 3, output_tokens: 5, output_tokens_details: { thinking_tokens: 2 } },
    };
    const answer = read([Buffer.from(JSON.stringify(body))], 200, JSON_TYPE);
    assert.deepEqual(answer.usage, { input: 3, output: 5, reasoning: 2, totalTokens: 8 });
    assert.deepEqual([answer.isComplete, answer.message.stopReason], [true, "length"]);
    assert.deepEqual(answer.message.content, [{ type: "text", text: "So." }, CONTENT[3]]);
    const reader = dialect.reader(200, JSON_TYPE);
    const reused = Buffer.alloc(1);
    for (const byte of Buffer.from(JSON.stringify(body))) {
      reused[0] = byte;
      reader.take(reused);
    }
    assert.deepEqual(reader.end(), answer);
    assert.equal(read([Buffer.from("<html>")], 200, { "content-type": "text/html" }).isComplete, false);
  });

  const ENCODERS: [string, (bytes: Buffer) => Buffer][] = [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
  ];
  for (const [encoding, encode] of ENCODERS)
    it(`compressed with ${encoding} is read as well, as far as it came`, () => {
      const headers = { ...SSE, "content-encoding": encoding };
      const bytes = encode(ALL);
      assert.deepEqual(read([bytes.subarray(0, 50), bytes.subarray(50)], 200, headers), read([ALL]));
      for (let end = 0; end < bytes.length - 12; end += 5) {
        const { isComplete, message } = read([bytes.subarray(0, end)], 200, headers);
        if (end < bytes.length / 2) assert.equal(isComplete, false);
        for (const part of message.content) if (part.type === "toolCall") assert.ok(part.name !== "");
      }
      assert.equal(read([ALL], 200, headers).isComplete, false, "not encoded at all");
      const half = Buffer.concat(
        [ALL, randomBytes(200_000).toString("hex")].map((part) => Buffer.from(part)),
      );
      const cut = read([encode(half).subarray(0, -1_000)], 200, headers);
      assert.deepEqual(cut.message.content, CONTENT, "of a cut answer what came");
    });

  it("reports an error of its stream, and the content before it", () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const words = [block(0, { type: "text", text: "" }), delta(0, "text_delta", { text: "So" })];
    const answer = read([events(START, ...words, error)]);
    assert.deepEqual(answer.error, { message: "Overloaded", code: "overloaded_error", overflow: false });
    assert.deepEqual(answer.message.content, [{ type: "text", text: "So" }]);
    assert.deepEqual([answer.isComplete, answer.message.stopReason], [false, "error"]);
  });

  it("reports a refused request, and whether it was too long", () => {
    const refused = (status: number, type: string, message: string): WireAnswer["error"] =>
      read([Buffer.from(JSON.stringify({ type: "error", error: { type, message } }))], status, JSON_TYPE)
        .error;
    const long = "prompt is too long: 210000 tokens > 200000 maximum";
    assert.deepEqual(refused(400, "invalid_request_error", long), {
      message: long,
      code: "invalid_request_error",
      overflow: true,
    });
    assert.equal(refused(413, "request_too_large", "Request exceeds the maximum size")?.overflow, true);
    assert.equal(refused(400, "invalid_request_error", "max_tokens: too high")?.overflow, false);
    assert.equal(refused(429, "rate_limit_error", "prompt is too long for your rate")?.overflow, false);
    const page = read([Buffer.from("<html>Bad gateway</html>")], 502, { "content-type": "text/html" });
    assert.match(page.error?.message ?? "", /status 502/);
  });
});

const request = readRecorded("compact-focus");
const BELIEVED = { input: 12, output: 3, cacheRead: 70, cacheWrite: 5, totalTokens: 90 };

describe("An answer written by the gateway", () => {
  it("reads like the model's, with the usage for the harness", () => {
    const main = readRecorded("first-turn");
    const { status, headers, body } = dialect.answer(main, "It is so.", BELIEVED);
    const answer = read([body], status, headers);
    assert.deepEqual(answer.message.content, [{ type: "text", text: "It is so." }]);
    assert.deepEqual([answer.isComplete, answer.usage, answer.message.stopReason], [true, BELIEVED, "stop"]);
    assert.equal(answer.message.model, "claude-sonnet-4-5");
  });

  it("to a compaction is inside the tags that Claude Code looks for, and contains no such tags", () => {
    const text = "One <summary>two</SUMMARY> <analysis>three</analysis> four.";
    const answer = read([dialect.answer(request, text, BELIEVED).body]);
    assert.deepEqual(answer.message.content, [
      {
        type: "text",
        text: "<summary>\nOne [summary]two[/SUMMARY] [analysis]three[/analysis] four.\n</summary>",
      },
    ]);
  });

  it("is one body if no stream was requested", () => {
    const plain = readChanged("compact-focus", (body) => void delete body["stream"]);
    const { status, headers, body } = dialect.answer(plain, "So.", BELIEVED);
    assert.equal(headers["content-type"], "application/json");
    const answer = read([body], status, headers);
    assert.deepEqual([answer.isComplete, answer.usage], [true, BELIEVED]);
  });
});

const FINISH: AssistantMessage = {
  role: "assistant",
  content: CONTENT,
  usage: BELIEVED,
  stopReason: "toolUse",
};

function written(parts: readonly ModelPart[], stream = true): WireAnswer {
  const asked = readChanged("first-turn", (body) => void (body["stream"] = stream));
  const writer = dialect.writer(asked);
  const chunks = parts.map((part) => writer.write(part));
  return read(chunks, writer.head.status, writer.head.headers);
}

describe("A model's answer, written as Messages", () => {
  const thinking: ModelPart[] = ["Where is ", "it? 🐚"].map((text) => ({ type: "thinking", delta: text }));
  const words: ModelPart[] = ["I look", ": é", ""].map((text) => ({ type: "text", delta: text }));

  it("has its thinking and text as they came, its calls, usage and stop reason", () => {
    const answer = written([...thinking, ...words, { type: "finish", message: FINISH }]);
    assert.deepEqual(answer.message.content, [
      { type: "thinking", thinking: "Where is it? 🐚" },
      { type: "text", text: "I look: é" },
      CONTENT[3],
      CONTENT[4],
    ]);
    assert.deepEqual(
      [answer.isComplete, answer.usage, answer.message.stopReason],
      [true, BELIEVED, "toolUse"],
    );
  });

  it("has the signature if only thinking streamed", () => {
    const [thought, , , call] = CONTENT;
    assert.ok(thought && call);
    const message: AssistantMessage = { ...FINISH, content: [thought, call] };
    const answer = written([...thinking, { type: "finish", message }]);
    assert.deepEqual(answer.message.content, [thought, call]);
  });

  it("is complete if nothing streamed, and as one body", () => {
    assert.deepEqual(written([{ type: "finish", message: FINISH }]).message.content, CONTENT.slice(2));
    const whole = written([...words, { type: "finish", message: FINISH }], false);
    assert.deepEqual(whole.message.content, [CONTENT[0], ...CONTENT.slice(2)]);
    assert.deepEqual([whole.isComplete, whole.usage, whole.message.stopReason], [true, BELIEVED, "toolUse"]);
  });

  it("has stopped for its calls, also if the model's stop reason is another", () => {
    const answer = written([{ type: "finish", message: { ...FINISH, stopReason: "stop" } }]);
    assert.equal(answer.message.stopReason, "toolUse");
    const short = written([{ type: "finish", message: { ...FINISH, stopReason: "length" } }]);
    assert.equal(short.message.stopReason, "length");
  });

  it("writes nothing for a retry before it began, and fails at one after", () => {
    const retry: ModelPart = { type: "retry", attempt: 1, delayMs: 5, reason: "it broke off" };
    const later = written([
      retry,
      ...words,
      { type: "finish", message: { ...FINISH, stopReason: "stop", content: [] } },
    ]);
    assert.deepEqual([later.isComplete, later.message.stopReason], [true, "stop"]);
    const failed = written([...words, retry, ...words, { type: "finish", message: FINISH }]);
    assert.match(failed.error?.message ?? "", /it broke off/);
    assert.deepEqual(failed.message.content, [{ type: "text", text: "I look: é" }]);
  });

  it("fails with a message, once, streaming or not", () => {
    for (const stream of [true, false]) {
      const asked = readChanged("first-turn", (body) => void (body["stream"] = stream));
      const writer = dialect.writer(asked);
      const text = Buffer.concat([writer.fail("The model is gone."), writer.fail("Again.")]);
      const answer = read([text], 200, writer.head.headers);
      assert.deepEqual(answer.error, { message: "The model is gone.", code: "api_error", overflow: false });
      const message = { ...FINISH, stopReason: "error" as const, errorMessage: "It refused." };
      assert.equal(written([{ type: "finish", message }], stream).error?.message, "It refused.");
    }
  });

  it("has call ids that the API accepts", () => {
    const content: AssistantMessage["content"] = [
      { type: "toolCall", id: "a|b", name: "Read", arguments: {} },
    ];
    const [call] = written([{ type: "finish", message: { ...FINISH, content } }]).message.content;
    assert.match(call?.type === "toolCall" ? call.id : "", /^call_[0-9a-f]{24}$/);
  });
});

describe("A failure of the gateway", () => {
  const CASES: [WireFault, number, string][] = [
    ["bad_request", 400, "invalid_request_error"],
    ["unauthorized", 401, "authentication_error"],
    ["not_found", 404, "not_found_error"],
    ["too_large", 413, "request_too_large"],
    ["overloaded", 529, "overloaded_error"],
    ["context_overflow", 400, "invalid_request_error"],
    ["upstream_failed", 502, "api_error"],
    ["internal", 500, "api_error"],
  ];
  for (const [code, status, type] of CASES)
    it(`(${code}) has status ${status} and the API's error format`, () => {
      const reply = dialect.fault(code, "It cannot be.");
      const body = JSON.parse(reply.body.toString("utf8")) as {
        type: string;
        error: { type: string; message: string };
      };
      assert.deepEqual([reply.status, body.type, body.error.type], [status, "error", type]);
      assert.match(body.error.message, /It cannot be\.$/);
      assert.equal(
        read([reply.body], status, reply.headers).error?.overflow,
        ["too_large", "context_overflow"].includes(code),
      );
    });
});
