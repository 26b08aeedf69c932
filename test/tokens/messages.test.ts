import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage, AssistantMessage } from "../../packages/contract/src/message.ts";
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { messagesTokens, messageTokens } from "../../packages/core/src/tokens/message-tokens.ts";

const WORDS = "Please look at the three newest files and tell me what changed.";

test("a user message costs its text and four tokens, as a string or as a part", () => {
  const expected = estimateTokens(WORDS) + 4;
  assert.equal(messageTokens({ role: "user", content: WORDS }), expected);
  assert.equal(messageTokens({ role: "user", content: [{ type: "text", text: WORDS }] }), expected);
});

test("ids, times and usage cost nothing", () => {
  const bare: AssistantMessage = { role: "assistant", content: [{ type: "text", text: WORDS }] };
  const full: AssistantMessage = {
    ...bare,
    entryId: "0mgx7l2p400001ab",
    timestamp: 1_767_225_600_000,
    provider: "openai",
    model: "some-model",
    stopReason: "stop",
    usage: { input: 1_000, output: 20, totalTokens: 1_020 },
  };
  assert.equal(messageTokens(full), messageTokens(bare));
});

test("thinking, tool calls with their arguments, results and images are counted", () => {
  const call: AgentMessage = {
    role: "assistant",
    content: [
      { type: "thinking", thinking: WORDS, signature: "x".repeat(4_000) },
      {
        type: "toolCall",
        id: "call_1",
        name: "read",
        arguments: { path: "packages/app/src/app.ts", lines: [1, 200] },
      },
    ],
  };
  const args = estimateTokens('{"path":"packages/app/src/app.ts","lines":[1,200]}');
  assert.equal(messageTokens(call), 4 + estimateTokens(WORDS) + estimateTokens("read") + args);
  const result: AgentMessage = {
    role: "toolResult",
    toolCallId: "call_1",
    toolName: "read",
    content: [
      { type: "text", text: WORDS },
      { type: "image", data: "A".repeat(1_000_000), mimeType: "image/png" },
    ],
    isError: false,
  };
  assert.equal(messageTokens(result), 4 + estimateTokens(WORDS) + 1_200);
  assert.equal(messagesTokens([call, result]), messageTokens(call) + messageTokens(result));
});

test("encrypted reasoning is counted by its opaque data", () => {
  const signature = Buffer.from(WORDS.repeat(20)).toString("base64");
  const message: AgentMessage = {
    role: "assistant",
    content: [{ type: "thinking", thinking: "", signature, redacted: true }],
  };
  assert.equal(messageTokens(message), 4 + estimateTokens(signature));
});

test("no messages cost nothing", () => {
  assert.equal(messagesTokens([]), 0);
});

test("a message is counted once and cached by object", () => {
  let reads = 0;
  const message: AgentMessage = {
    role: "user",
    get content() {
      reads++;
      return WORDS;
    },
  };
  const first = messageTokens(message);
  const before = reads;
  assert.equal(messageTokens(message), first);
  assert.equal(reads, before);
});

test("arguments that are not JSON, absent content and unknown parts do not break a count", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const call: AgentMessage = {
    role: "assistant",
    content: [{ type: "toolCall", id: "c", name: "run", arguments: cyclic }],
  };
  assert.equal(messageTokens(call), 4 + estimateTokens("run"));
  const empty = { role: "assistant" } as unknown as AgentMessage;
  assert.equal(messageTokens(empty), 4);
  const unknown = { role: "user", content: [{ type: "audio", id: "a1" }] } as unknown as AgentMessage;
  assert.equal(messageTokens(unknown), 4 + estimateTokens('{"type":"audio","id":"a1"}'));
});
