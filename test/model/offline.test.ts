import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../src/contract/message.ts";
import { completeOnce } from "../../src/model/complete.ts";
import { resolveModel } from "../../src/model/resolve.ts";
import { collect, textOf, withServer } from "./calling.ts";

const OFFLINE = resolveModel("offline/extract", {}, {});

const CONVERSATION: AgentMessage[] = [
  { role: "user", content: "The staging database runs on port 6543.", entryId: "entry-db" },
  { role: "assistant", content: [{ type: "text", text: "Noted." }], entryId: "entry-noted" },
  { role: "user", content: "Lunch is at noon.", entryId: "entry-lunch" },
  { role: "user", content: "Which port does the staging database use?", entryId: "entry-question" },
];

test("offline/extract quotes what fits the input, with the entry id, and says what it is", async () => {
  const { parts, message } = await collect(OFFLINE, { messages: CONVERSATION });
  const text = textOf(message);
  assert.match(text, /\[user, entry entry-db\] The staging database runs on port 6543\./);
  assert.doesNotMatch(text, /Lunch|entry-question/);
  assert.match(text, /not a language model/);
  assert.match(text, /ANTHROPIC_API_KEY.*Ollama.*pagurus config set/s);
  assert.equal(parts.map((part) => (part.type === "text" ? part.delta : "")).join(""), text);
  assert.equal(message.stopReason, "stop");
  assert.equal(message.usage?.cost, 0);
});

test("offline/extract is deterministic and calls no tools", async () => {
  const tools = [{ name: "read", description: "", parameters: {} }];
  const first = await collect(OFFLINE, { messages: CONVERSATION, tools });
  const second = await collect(OFFLINE, { messages: CONVERSATION, tools });
  assert.deepEqual(first.message.content, second.message.content);
  assert.ok(first.message.content.every((part) => part.type === "text"));
});

test("offline/extract with nothing earlier, or nothing that fits, says so", async () => {
  for (const messages of [
    CONVERSATION.slice(3),
    [...CONVERSATION, { role: "user", content: "Zebra?" } as const],
  ]) {
    const { message } = await collect(OFFLINE, { messages });
    assert.match(textOf(message), /^Nothing earlier in this conversation matches/);
  }
});

test("offline/extract does not quote its own answers", async () => {
  const first = await collect(OFFLINE, { messages: CONVERSATION });
  const messages = [
    ...CONVERSATION,
    first.message,
    { role: "user", content: "And the staging port?" } as const,
  ];
  const { message } = await collect(OFFLINE, { messages });
  assert.equal(textOf(message).match(/not a language model/g)?.length, 1);
  assert.doesNotMatch(textOf(message), /\[assistant/);
});

test("offline/extract obeys an abort", async () => {
  const call = collect(OFFLINE, { messages: CONVERSATION, signal: AbortSignal.abort() });
  await assert.rejects(call, { code: "turn_aborted" });
});

test("completeOnce gives text, usage and stop reason of one answer without tools", async () => {
  await withServer(
    "anthropic-messages",
    [{ text: "A summary", stop: "length" }],
    async ({ server, model }) => {
      const completion = await completeOnce(model, {
        systemPrompt: "Summarize.",
        messages: [
          { role: "user", content: "One" },
          { role: "assistant", content: "Two" },
          { role: "user", content: "Three" },
        ],
        maxTokens: 77,
        signal: new AbortController().signal,
      });
      assert.equal(completion.text, "A summary");
      assert.equal(completion.stopReason, "length");
      assert.ok((completion.usage?.totalTokens ?? 0) > 0);
      const body = server.requests[0]?.body;
      assert.equal(body?.["max_tokens"], 77);
      assert.equal(body?.["tools"], undefined);
      assert.deepEqual(
        (body["messages"] as { role: string }[]).map(({ role }) => role),
        ["user", "assistant", "user"],
      );
    },
  );
});
