import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { readInput, readRecorded } from "./responses-recorded.ts";
import { unicodeText } from "../../runner/unicode-text.ts";

const CALL = { type: "toolCall", id: "call_1", name: "exec_command", arguments: { cmd: "ls" } } as const;
const RESULT: AgentMessage = {
  role: "toolResult",
  toolCallId: "call_1",
  toolName: "exec_command",
  content: [{ type: "text", text: "a" }],
  isError: false,
};
const IMAGE = { type: "image", data: "AAAA", mimeType: "image/png" } as const;

function encoded(messages: AgentMessage[], addition?: string, request: WireRequest = readInput([])): unknown {
  const bytes = responsesDialect.encode(messages, addition, { request, mayMark: true });
  return JSON.parse(`[${bytes.toString()}]`) as unknown;
}

describe("our messages as elements of a Responses request", () => {
  it("each role has its own form", () => {
    const messages: AgentMessage[] = [
      { role: "user", content: [{ type: "text", text: "Look." }, IMAGE], entryId: "e1", timestamp: 1 },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "I look." },
          { type: "text", text: "" },
          CALL,
        ],
        usage: { input: 1, output: 1, totalTokens: 2 },
      },
      RESULT,
      { role: "user", content: "Thanks." },
    ];
    assert.deepEqual(encoded(messages), [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "Look." },
          { type: "input_image", image_url: "data:image/png;base64,AAAA" },
        ],
      },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
      { type: "function_call", name: "exec_command", arguments: '{"cmd":"ls"}', call_id: "call_1" },
      { type: "function_call_output", call_id: "call_1", output: "a" },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Thanks." }] },
    ]);
  });

  it("rules come first, as the developer's, and fragments by their kind", () => {
    const fragment = (kind: "application" | "untrusted"): AgentMessage => ({
      role: "user",
      content: `<${kind}>`,
      fragment: { key: "k", kind },
    });
    const text = (role: string, words: string) => ({
      type: "message",
      role,
      content: [{ type: "input_text", text: words }],
    });
    assert.deepEqual(encoded([fragment("application"), fragment("untrusted")], "RULES"), [
      text("developer", "RULES"),
      text("developer", "<application>"),
      text("user", "<untrusted>"),
    ]);
    assert.deepEqual(encoded([], "RULES"), [text("developer", "RULES")]);
  });

  it("no messages give no bytes", () => {
    const request = readInput([]);
    for (const addition of [undefined, ""])
      assert.equal(responsesDialect.encode([], addition, { request, mayMark: false }).length, 0);
    assert.deepEqual(encoded([{ role: "user", content: [] }]), []);
  });

  it("a result with an image has parts", () => {
    const content = [{ type: "text" as const, text: "seen" }, IMAGE];
    assert.deepEqual(encoded([{ ...RESULT, content }]), [
      {
        type: "function_call_output",
        call_id: "call_1",
        output: [
          { type: "input_text", text: "seen" },
          { type: "input_image", image_url: "data:image/png;base64,AAAA" },
        ],
      },
    ]);
  });

  it("a tool in an offered namespace is called by both its names", () => {
    const call = { ...CALL, name: "multi_agent_v1__spawn_agent" };
    const message: AgentMessage = { role: "assistant", content: [call] };
    const [encodedCall] = encoded([message], undefined, readRecorded("agents-4")) as Record<
      string,
      unknown
    >[];
    assert.deepEqual([encodedCall?.["name"], encodedCall?.["namespace"]], ["spawn_agent", "multi_agent_v1"]);
    const [flat] = encoded([message]) as Record<string, unknown>[];
    assert.deepEqual([flat?.["name"], flat?.["namespace"]], ["multi_agent_v1__spawn_agent", undefined]);
  });

  it("messages read from Codex's own elements are encoded like Codex's", () => {
    for (const name of ["loop-2", "agents-4"]) {
      const request = readRecorded(name);
      for (const item of request.items) {
        const own = JSON.parse(request.body.toString("utf8", item.start, item.end)) as Record<
          string,
          unknown
        >;
        if (!String(own["type"]).startsWith("function_call") || item.kind === "setting") continue;
        const { id: _, status: __, ...encodedCall } = own;
        assert.deepEqual(encoded([...item.messages], undefined, request), [encodedCall]);
      }
    }
  });

  it("a call and its result are of one kind, that of the request", () => {
    const request = readInput([
      { type: "custom_tool_call", call_id: "call_1", name: "patch", input: "*** Begin" },
      { type: "custom_tool_call_output", call_id: "call_1", output: "ok" },
    ]);
    const messages = request.items.flatMap((item) => item.messages);
    assert.deepEqual(encoded(messages, undefined, request), [
      { type: "custom_tool_call", name: "patch", input: "*** Begin", call_id: "call_1" },
      { type: "custom_tool_call_output", call_id: "call_1", output: "ok" },
    ]);
    assert.deepEqual(
      (encoded(messages) as { type: string }[]).map(({ type }) => type),
      ["function_call", "function_call_output"],
    );
  });

  it("the same messages give the same bytes, and some of them a prefix", () => {
    const request = readRecorded("loop-2");
    const text = unicodeText({ maxLength: 20 });
    const message = fc.oneof(
      text.map((content): AgentMessage => ({ role: "user", content })),
      text.map((words): AgentMessage => ({ role: "assistant", content: [{ type: "text", text: words }] })),
      fc
        .json()
        .map((input): AgentMessage => ({ role: "assistant", content: [{ ...CALL, arguments: { input } }] })),
      text.map(
        (words): AgentMessage => ({ ...RESULT, content: [{ type: "text", text: words }] }) as AgentMessage,
      ),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.nat(8), (messages, count) => {
        const options = { request, mayMark: false };
        const whole = responsesDialect.encode(messages, "RULES", options);
        assert.deepEqual(responsesDialect.encode(messages, "RULES", options), whole);
        const part = responsesDialect.encode(messages.slice(0, count), "RULES", options);
        assert.deepEqual(whole.subarray(0, part.length), part);
        JSON.parse(`[${whole.toString()}]`);
      }),
    );
  });
});
