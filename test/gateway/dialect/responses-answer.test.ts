import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssistantMessage, Usage } from "../../../packages/contract/src/message.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type {
  WireAnswer,
  WireFault,
  WireRequest,
} from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { SseReader } from "../../../packages/core/src/protocols/sse.ts";
import type { ModelPart } from "../../../packages/core/src/model/provider-types.ts";
import { bytesOf, lines, readInput, readRecorded, recorded } from "./responses-recorded.ts";

const USAGE: Usage = { input: 60, output: 7, cacheRead: 40, reasoning: 3, totalTokens: 107 };

interface Event {
  type: string;
  sequence_number: number;
  output_index?: number;
  item?: Record<string, unknown>;
  response?: Record<string, unknown>;
  delta?: string;
}

function eventsOf(bytes: Buffer): Event[] {
  return new SseReader().take(bytes).map(({ event, data }) => {
    const reply = JSON.parse(data) as Event;
    assert.equal(reply.type, event);
    return reply;
  });
}

function reread(bytes: Buffer, headers: Record<string, string>, status = 200): WireAnswer {
  const reader = responsesDialect.reader(status, headers);
  reader.take(bytes);
  return reader.end();
}

describe("the answer to a compaction", () => {
  it("is one message, for a compaction by a prompt", () => {
    const { status, headers, body } = responsesDialect.answer(readRecorded("compact-1"), "SUMMARY é", USAGE);
    assert.equal(status, 200);
    assert.equal(headers["content-type"], "text/event-stream");
    const events = eventsOf(body);
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
      ],
    );
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      [0, 1, 2, 3, 4],
    );
    const reply = reread(body, headers);
    assert.deepEqual(reply.message.content, [{ type: "text", text: "SUMMARY é" }]);
    assert.deepEqual([reply.isComplete, reply.usage], [true, USAGE]);
  });

  it("is one sealed element, for a compaction by a trigger", () => {
    const { body } = responsesDialect.answer(readRecorded("remote-1"), "SUMMARY", USAGE);
    const items = eventsOf(body).filter(({ type }) => type === "response.output_item.done");
    assert.equal(items.length, 1);
    const [item] = items.map((event) => event.item);
    assert.deepEqual(Object.keys(item ?? {}), ["type", "id", "encrypted_content"]);
    assert.equal(item?.["type"], "compaction");
  });

  it("the sealed element, sent back, passes, with text sent in its place", () => {
    const sealed = eventsOf(responsesDialect.answer(readRecorded("remote-1"), "SUMMARY é", USAGE).body);
    const item = sealed.find(({ type }) => type === "response.output_item.done")?.item;
    const { path, headers, body } = recorded("remote-2");
    const old = body.toString().replace(/\{"type":"compaction"[^}]*\}/, () => JSON.stringify(item));
    const request = responsesDialect.read(path, headers, Buffer.from(old));
    assert.deepEqual(lines(request), ["user: First.", "passing", "---", "user: Second."]);
    const found = request.items.find(({ isPassing }) => isPassing);
    assert.deepEqual(found?.messages, []);
    const words = JSON.parse(found?.replacement?.toString() ?? "") as { content: { text: string }[] };
    assert.match(words.content[0]?.text ?? "", /^Another language model started[^]*:\nSUMMARY é$/);
    // As text it is what Codex's own compaction leaves.
    assert.deepEqual(lines(readInput([words, { role: "user", content: "On." }])), [
      "passing",
      "---",
      "user: On.",
    ]);
  });

  it("an element without our seal is kept as it is", () => {
    const [item] = readInput([{ type: "compaction", encrypted_content: "pagurus:summary" }]).items;
    assert.deepEqual([item?.kind, item?.isPassing, item?.replacement], ["setting", true, undefined]);
  });

  it("comes in one piece if no stream was requested", () => {
    const request = readInput([{ role: "user", content: "x" }], { stream: false });
    const { headers, body } = responsesDialect.answer(request, "SUMMARY", USAGE);
    assert.equal(headers["content-type"], "application/json");
    const { status, output } = JSON.parse(body.toString()) as { status: string; output: unknown[] };
    assert.deepEqual([status, output.length], ["completed", 1]);
    const reply = reread(body, headers);
    assert.deepEqual(reply.message.content, [{ type: "text", text: "SUMMARY" }]);
    assert.deepEqual(reply.usage, USAGE);
  });

  it("has ids of its own and the time, also for an equal request", () => {
    const asked = { ...readRecorded("compact-3"), stream: false };
    const made = [0, 1].map(() => {
      const { body } = responsesDialect.answer(asked, "SUMMARY", USAGE);
      return JSON.parse(body.toString("utf8")) as {
        id: string;
        created_at: number;
        output: { id: string }[];
      };
    });
    const ids = made.flatMap(({ id, output }) => [id, ...output.map((item) => item.id)]);
    assert.equal(new Set(ids).size, ids.length);
    for (const { created_at: at } of made) assert.ok(Math.abs(at - Date.now() / 1000) < 60, String(at));
  });
});

function written(request: WireRequest, parts: readonly ModelPart[]): Buffer {
  const writer = responsesDialect.writer(request);
  return Buffer.concat(parts.map((part) => writer.write(part)));
}

const MESSAGE: AssistantMessage = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: "Hm, so." },
    { type: "text", text: "I look." },
    { type: "toolCall", id: "c1", name: "exec_command", arguments: { cmd: "ls é" } },
    { type: "toolCall", id: "c2", name: "multi_agent_v1__spawn_agent", arguments: {} },
  ],
  stopReason: "toolUse",
  usage: USAGE,
};
const PARTS: ModelPart[] = [
  { type: "thinking", delta: "Hm," },
  { type: "thinking", delta: " so." },
  { type: "text", delta: "I " },
  { type: "text", delta: "look." },
  { type: "finish", message: MESSAGE },
];

describe("a model's answer, written as Codex reads it", () => {
  const request = readRecorded("loop-1");

  it("contains the model's parts, with its usage", () => {
    const { headers } = responsesDialect.writer(request).head;
    const { message, isComplete, usage } = reread(written(request, PARTS), headers);
    assert.deepEqual(message.content, MESSAGE.content);
    assert.deepEqual([isComplete, usage, message.stopReason], [true, USAGE, "toolUse"]);
  });

  it("sends each piece at once, each element as a whole at its end, and the whole answer at its own", () => {
    const writer = responsesDialect.writer(request);
    const pieces = PARTS.map((part) => eventsOf(writer.write(part)));
    assert.deepEqual(
      pieces.map((events) => events.flatMap(({ delta }) => delta ?? []).join("")),
      ["Hm,", " so.", "I ", "look.", '{"cmd":"ls é"}{}'],
    );
    const all = pieces.flat();
    const called = all.filter(
      ({ output_index, type }) => output_index === 2 && type !== "response.completed",
    );
    assert.deepEqual(
      called.map(({ type, item }) => [type, item?.["status"], item?.["arguments"]]),
      [
        ["response.output_item.added", "in_progress", ""],
        ["response.function_call_arguments.delta", undefined, undefined],
        ["response.function_call_arguments.done", undefined, undefined],
        ["response.output_item.done", "completed", '{"cmd":"ls é"}'],
      ],
    );
    assert.deepEqual(
      all.map(({ sequence_number }) => sequence_number),
      all.map((_, index) => index),
    );
    const done = all.filter(({ type }) => type === "response.output_item.done");
    assert.deepEqual(
      done.map(({ output_index, item }) => [output_index, item?.["type"], item?.["namespace"]]),
      [
        [0, "reasoning", undefined],
        [1, "message", undefined],
        [2, "function_call", undefined],
        [3, "function_call", "multi_agent_v1"],
      ],
    );
    assert.equal(done[3]?.item?.["name"], "spawn_agent");
    assert.deepEqual(
      all.at(-1)?.response?.["output"],
      done.map(({ item }) => item),
    );
    const ids = done.map(({ item }) => item?.["id"]);
    assert.equal(new Set(ids).size, ids.length);
  });

  it("a tool with text input is called with text", () => {
    const custom = readInput([{ role: "user", content: "x" }], {
      tools: [{ type: "custom", name: "patch" }],
    });
    const call = { type: "toolCall" as const, id: "c1", name: "patch", arguments: { input: "*** Begin" } };
    const message: AssistantMessage = { role: "assistant", content: [call], stopReason: "toolUse" };
    const events = eventsOf(written(custom, [{ type: "finish", message }]));
    const item = events.find(({ type }) => type === "response.output_item.done")?.item;
    assert.deepEqual([item?.["type"], item?.["input"]], ["custom_tool_call", "*** Begin"]);
    const lite = readRecorded("lite-1");
    const exec = { ...call, name: "functions__exec" };
    const reply = eventsOf(written(lite, [{ type: "finish", message: { ...message, content: [exec] } }]));
    const liteItem = reply.find(({ type }) => type === "response.output_item.done")?.item;
    assert.deepEqual(
      [liteItem?.["type"], liteItem?.["name"], liteItem?.["namespace"]],
      ["custom_tool_call", "exec", "functions"],
    );
  });

  it("text that only comes with the end is sent too, and once", () => {
    const { message } = reread(written(request, PARTS.slice(-1)), {});
    assert.deepEqual(message.content, MESSAGE.content);
  });

  it("an answer that is cut by its limit is incomplete", () => {
    const message: AssistantMessage = { ...MESSAGE, content: [], stopReason: "length" };
    const { message: reply } = reread(
      written(request, [...PARTS.slice(0, 4), { type: "finish", message }]),
      {},
    );
    assert.equal(reply.stopReason, "length");
  });

  it("fails once, and writes nothing after that", () => {
    const writer = responsesDialect.writer(request);
    const first = writer.write({ type: "text", delta: "half" });
    const failed = writer.fail("The provider left.");
    const reply = reread(Buffer.concat([first, failed]), {});
    assert.deepEqual(reply.error, { message: "The provider left.", code: "server_error", overflow: false });
    assert.deepEqual(reply.message.content, [{ type: "text", text: "half" }]);
    assert.equal(writer.fail("again").length + writer.write({ type: "text", delta: "more" }).length, 0);
    const overflow = responsesDialect.writer(request).fail("prompt is too long: 9 > 8");
    assert.equal(reread(overflow, {}).error?.overflow, true);
    const message: AssistantMessage = {
      role: "assistant",
      content: [],
      stopReason: "error",
      errorMessage: "No.",
    };
    assert.equal(reread(written(request, [{ type: "finish", message }]), {}).error?.message, "No.");
  });

  it("a retry has no bytes before any output, and ends an answer that had begun", () => {
    const retry: ModelPart = { type: "retry", attempt: 1, delayMs: 1, reason: "overloaded" };
    assert.equal(responsesDialect.writer(request).write(retry).length, 0);
    const { message } = reread(written(request, [retry, ...PARTS]), {});
    assert.deepEqual(message.content, MESSAGE.content);
    const begun = reread(written(request, [...PARTS.slice(0, 3), retry, ...PARTS]), {});
    assert.equal(begun.error?.message, "overloaded");
  });

  it("comes in one piece if no stream was requested", () => {
    const whole = readInput([{ role: "user", content: "x" }], { stream: false });
    const writer = responsesDialect.writer(whole);
    const bytes = PARTS.map((part) => writer.write(part));
    assert.equal(Buffer.concat(bytes.slice(0, -1)).length, 0);
    const { message } = reread(Buffer.concat(bytes), writer.head.headers);
    const flat = MESSAGE.content.map((part) => part);
    assert.deepEqual(message.content, flat);
  });
});

describe("faults in OpenAI's format", () => {
  it("each has a status and a code, and its message", () => {
    const statuses: Record<WireFault, number> = {
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
    for (const [fault, status] of Object.entries(statuses)) {
      const reply = responsesDialect.fault(fault as WireFault, `It is ${fault}.`);
      assert.equal(reply.status, status, fault);
      const parsed = reread(reply.body, reply.headers, status);
      assert.equal(parsed.error?.message, `It is ${fault}.`);
      assert.equal(parsed.error?.overflow, fault === "context_overflow");
    }
  });
});

describe("the bytes of a recorded request", () => {
  it("prefix, elements and the bytes between them are the body", () => {
    for (const name of ["loop-2", "remote-3", "compact-5", "lite-1"]) {
      const request = readRecorded(name);
      assert.deepEqual(JSON.parse(bytesOf(request, request.list)), JSON.parse(request.body.toString()).input);
    }
  });
});
