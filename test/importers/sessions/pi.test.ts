import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../stores/files/fixtures.ts";
import { jsonLines, messagesOf, pairProblem, take, outlineOf, type Row } from "./support.ts";

const ID = "6a1c5f0e-2b7d-4a51-8f0e-0d3b8a4c9e77";
const AT = "2026-01-05T10:00:00.000Z";
const header = { type: "session", version: 3, id: ID, timestamp: AT, cwd: "/project" };
const text = (value: string): Row[] => [{ type: "text", text: value }];

function entry(id: string, parentId: string | null, fields: Row): Row {
  return { id, parentId, timestamp: AT, ...fields };
}
const message = (id: string, parentId: string | null, value: Row): Row =>
  entry(id, parentId, { type: "message", message: { timestamp: 1_767_607_200_000, ...value } });

const calling = {
  role: "assistant",
  content: [
    {
      type: "thinking",
      thinking: "",
      thinkingSignature: `{"type":"reasoning","id":"rs_1","encrypted_content":"enc"}`,
    },
    { type: "toolCall", id: "c1", name: "bash", arguments: { command: "ls" } },
  ],
  api: "openai-responses",
  provider: "openai",
  model: "gpt-5",
  usage: {
    input: 10,
    output: 2,
    cacheRead: 5,
    cacheWrite: 0,
    totalTokens: 17,
    cost: { input: 0.1, total: 0.5 },
  },
  stopReason: "toolUse",
};
const result = {
  role: "toolResult",
  toolCallId: "c1",
  toolName: "bash",
  content: text("a b"),
  details: { exit: 0 },
  isError: false,
};

test("a pi session keeps its tree, its kinds of entries and its compaction", async (t) => {
  const rows = [
    header,
    entry("m0", null, { type: "model_change", provider: "openai", modelId: "gpt-5" }),
    message("a1", "m0", { role: "user", content: "old" }),
    message("a2", "a1", calling),
    message("a3", "a2", result),
    message("a4", "a3", { role: "assistant", content: text("listed"), stopReason: "stop" }),
    message("b1", "a4", { role: "user", content: "wrong way" }),
    entry("l1", "a4", { type: "label", targetId: "a1", label: "start" }),
    entry("k1", "l1", {
      type: "compaction",
      summary: "It listed.",
      firstKeptEntryId: "a3",
      tokensBefore: 1234,
      details: { files: ["a"] },
    }),
    entry("x1", "k1", { type: "custom", customType: "todo", data: { open: 2 } }),
    entry("x2", "x1", {
      type: "custom_message",
      customType: "hint",
      content: text("mind the gap"),
      display: true,
    }),
    message("a5", "x2", { role: "bashExecution", command: "pwd", output: "/project", exitCode: 0 }),
    entry("s1", "a5", { type: "session_info", name: "Listing" }),
    message("a6", "s1", {
      role: "user",
      content: [...text("see"), { type: "image", data: "QUJD", mimeType: "image/jpeg" }],
    }),
  ];
  const { record, path, context, entries, sentences } = await take(
    t,
    jsonLines(temporaryFolder(t), "a.jsonl", rows),
  );
  assert.equal(record.sessionKey, `pi:${ID}`);
  assert.equal(record.name, "Listing");
  assert.deepEqual(
    path.map(({ type }) => type),
    [
      "model_change",
      "message",
      "message",
      "message",
      "message",
      "custom",
      "compaction",
      "custom",
      "custom_message",
      "custom_message",
      "session_info",
      "message",
    ],
  );
  assert.equal(messagesOf(entries).length, messagesOf(path).length + 1);
  assert.equal(pairProblem(context), undefined);
  // The first kept entry was a result: its call is kept with it.
  assert.deepEqual(context.map(outlineOf), [
    "user <conversation_summary>\nIt listed.\n</conversation_summary>",
    "assistant () | bash#c1",
    "toolResult bash#c1: a b",
    "assistant listed",
    "user mind the gap",
    "user The user ran: pwd\n/project",
    "user see | <image/jpeg>",
  ]);
  const [, answer] = context;
  assert.ok(answer?.role === "assistant");
  assert.deepEqual(answer.content[0], {
    type: "thinking",
    thinking: "",
    signature: `{"id":"rs_1","encrypted":"enc"}`,
  });
  assert.equal(answer.usage?.cost, 0.5);
  assert.equal(answer.provider, "openai");
  const compaction = path.find(({ type }) => type === "compaction");
  assert.ok(compaction?.type === "compaction");
  assert.equal(compaction.tokensBefore, 1234);
  assert.deepEqual(compaction.details, { files: ["a"] });
  assert.ok(sentences.includes("Kept as data that no model sees: label 1."));
});

test("version 1 has no ids: entries follow each other, the kept one is named by its number", async (t) => {
  const line = (value: Row): Row => ({ type: "message", timestamp: AT, message: value });
  const rows = [
    { type: "session", id: ID, timestamp: AT, cwd: "/project", provider: "anthropic", modelId: "claude" },
    line({ role: "user", content: "one" }),
    line({ role: "assistant", content: text("first") }),
    line({ role: "user", content: "two" }),
    { type: "compaction", timestamp: AT, summary: "One was said.", firstKeptEntryIndex: 3, tokensBefore: 9 },
    line({ role: "hookMessage", customType: "hook", content: "from a hook", display: false }),
    line({ role: "user", content: "three" }),
  ];
  const { context, path } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", rows));
  assert.equal(path.length, 6);
  assert.deepEqual(context.map(outlineOf), [
    "user <conversation_summary>\nOne was said.\n</conversation_summary>",
    "user two",
    "user from a hook",
    "user three",
  ]);
});

test("messages that pi hides from its models stay hidden from ours, and calls that were cut off get a result", async (t) => {
  const rows = [
    header,
    message("a1", null, { role: "user", content: "go" }),
    message("a2", "a1", {
      ...calling,
      content: [calling.content[1]],
      stopReason: "aborted",
      errorMessage: "Aborted",
    }),
    message("a3", "a2", {
      role: "bashExecution",
      command: "env",
      output: "SECRET=1",
      excludeFromContext: true,
    }),
    message("a4", "a3", { role: "branchSummary", summary: "The other branch failed.", fromId: "zz" }),
    entry("u1", "a4", { type: "thinking_level_change", thinkingLevel: "high" }),
    message("a5", "lost", { role: "assistant", content: [] }),
  ];
  const { context, entries, sentences } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", rows));
  assert.equal(pairProblem(context), undefined);
  assert.equal(context.length, 4);
  assert.doesNotMatch(JSON.stringify(context), /SECRET/);
  assert.match(JSON.stringify(entries), /SECRET/);
  assert.ok(sentences.includes("1 tool call without a result got one that says so."));
  assert.ok(
    sentences.includes(
      "Kept as data that no model sees: message of assistant 1, message of bashExecution 1, thinking_level_change 1.",
    ),
  );
});

test("an export of ours differs from a session of pi, and a later version is refused", async (t) => {
  const folder = temporaryFolder(t);
  const later = jsonLines(folder, "later.jsonl", [{ ...header, version: 9 }]);
  await assert.rejects(take(t, later), { code: "import_invalid" });
  const ours = jsonLines(folder, "ours.jsonl", [{ ...header, id: "0mabcdefghijklmn", key: "main" }]);
  const { record, sentences } = await take(t, ours).catch((error: unknown) => {
    throw error;
  });
  assert.equal(record.sessionKey, "main");
  assert.deepEqual(sentences, []);
});

test("halves of surrogate pairs in a foreign session are replaced", async (t) => {
  const rows = [
    header,
    message("a1", null, { role: "user", content: "old \ud83d words" }),
    message("a2", "a1", { role: "assistant", content: text("seen \ude00"), stopReason: "stop" }),
  ];
  const { entries } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", rows));
  const words = JSON.stringify(messagesOf(entries));
  assert.match(words, /old \ufffd words/);
  assert.match(words, /seen \ufffd/);
});
