import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { completeOnce } from "../../packages/core/src/model/complete.ts";
import { resolveModel } from "../../packages/core/src/model/resolve.ts";
import { collect, textOf, withServer } from "./calling.ts";

const OFFLINE = resolveModel("offline/extract", {}, {});

const CONVERSATION: AgentMessage[] = [
  { role: "user", content: "The staging database runs on port 6543.", entryId: "entry-db" },
  { role: "assistant", content: [{ type: "text", text: "Noted." }], entryId: "entry-noted" },
  { role: "user", content: "Lunch is at noon.", entryId: "entry-lunch" },
  { role: "user", content: "Which port does the staging database use?", entryId: "entry-question" },
];

test("offline/extract answers with one line and its entry id, and identifies itself", async () => {
  const { parts, message } = await collect(OFFLINE, { messages: CONVERSATION });
  const text = textOf(message);
  assert.match(text, /^The staging database runs on port 6543\. \[user, entry entry-db\]\n\n/);
  assert.doesNotMatch(text, /Lunch|entry-question/);
  assert.match(text, /\n\nI am offline\/extract, not a language model: .*`pagurus setup` finds a model\.$/);
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

test("offline/extract reports that there is nothing earlier, or nothing that matches", async () => {
  for (const messages of [
    CONVERSATION.slice(3),
    [...CONVERSATION, { role: "user", content: "Zebra?" } as const],
  ]) {
    const { message } = await collect(OFFLINE, { messages });
    assert.match(textOf(message), /^Nothing in this conversation, .*@path.*\n\nI am offline\/extract/);
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

test("offline/extract quotes the files attached to the input, with their paths", async () => {
  const content = [
    { type: "text" as const, text: "How long does the warranty last? @doc&co.md" },
    {
      type: "text" as const,
      text: '<file path="doc&amp;co.md">\n# Returns\n\nWithin 14 days.\n\nThe warranty lasts 31 months.\n</file>',
    },
  ];
  const { message } = await collect(OFFLINE, { messages: [{ role: "user", content }] });
  assert.match(textOf(message), /^The warranty lasts 31 months\. \[doc&co\.md\]\n\n/);
});

test("offline/extract answers a question about a README with the command, and not with the question or a fence", async () => {
  const readme = [
    '```sh\nlab run "How do I run the tests?"\nnpm ci && npm test\n```',
    "## Running the tests\n\nThey are in test.",
    "Deploy with make ship:\n```sh\nmake ship\n```",
  ].join("\n\n");
  const answerTo = async (question: string): Promise<string> => {
    const content = [
      { type: "text" as const, text: `${question} @README.md` },
      { type: "text" as const, text: `<file path="README.md">\n${readme}\n</file>` },
    ];
    const { message } = await collect(OFFLINE, { messages: [{ role: "user", content }] });
    return textOf(message).split("\n")[0] ?? "";
  };
  assert.equal(await answerTo("How do I run the tests?"), "npm ci && npm test [README.md]");
  assert.match(await answerTo("How do I deploy?"), /make ship \[README\.md\]$/);
});

test("offline/extract answers a question from the notes that were pasted with it", async () => {
  const notes = "The staging port is 6543.\n\nLunch is at noon.\n\nIs the office closed on Monday? Yes.";
  for (const content of [
    `${notes}\n\nWhich port is used?`,
    `Which port is used?\n\n${notes}`,
    `Which port is used?\n\n${notes.slice(0, 50)}`,
    "The staging port is 6543. Which port is used?",
  ]) {
    const { message } = await collect(OFFLINE, { messages: [{ role: "user", content }] });
    const [answer] = textOf(message).split("\n");
    assert.equal(answer, "The staging port is 6543. [your input]", content);
  }
});

test("offline/extract quotes the project's instructions of the system prompt", async () => {
  const system =
    'Base.\n\n<project_instructions path="/w/AGENTS.md">\nUse tabs.\n\nReleases are cut on Fridays.\n</project_instructions>';
  const messages: AgentMessage[] = [{ role: "user", content: "When are releases cut?" }];
  const { message } = await collect(OFFLINE, { system, messages });
  assert.match(textOf(message), /^Releases are cut on Fridays\. \[\/w\/AGENTS\.md\]\n/);
});

test("offline/extract does not answer a question with the same question", async () => {
  const question: AgentMessage = { role: "user", content: "What can you do without a model?", entryId: "e1" };
  const first = await collect(OFFLINE, { messages: [question] });
  const second = await collect(OFFLINE, {
    messages: [question, first.message, { ...question, entryId: "e2" }],
  });
  assert.deepEqual(first.message.content, second.message.content);
});

test("offline/extract obeys an abort", async () => {
  const call = collect(OFFLINE, { messages: CONVERSATION, signal: AbortSignal.abort() });
  await assert.rejects(call, { code: "turn_aborted" });
});

test("completeOnce returns text, usage and stop reason of one answer without tools", async () => {
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
