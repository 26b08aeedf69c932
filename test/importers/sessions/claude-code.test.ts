import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { collect, openStore, temporaryFolder } from "../../stores/files/fixtures.ts";
import { ClaudeLines, SESSION } from "./claude-lines.ts";
import { header, jsonLines, messagesOf, pairProblem, take, takeInto, outlineOf } from "./support.ts";

test("a Claude Code session becomes a transcript: one message for the lines of an answer, results in pairs", async (t) => {
  const lines = new ClaudeLines();
  lines.bare({ type: "file-history-snapshot", messageId: "m", snapshot: {} });
  lines.progress();
  lines.user("Fix the bug");
  lines.part("msg_1", { type: "thinking", thinking: "hm", signature: "sig" });
  lines.part("msg_1", { type: "text", text: "I look." });
  const first = lines.call("msg_1", "t1");
  lines.progress();
  const second = lines.call("msg_1", "t2");
  lines.progress();
  // Each result names its own call's line, not the line before it.
  lines.result("t1", "one", first);
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } };
  lines.result("t2", [{ type: "text", text: "two" }, image], second);
  lines.part("msg_2", { type: "text", text: "Done." });
  const file = jsonLines(temporaryFolder(t), `${SESSION}.jsonl`, lines.rows);
  const { record, path, context, sentences, entries } = await take(t, file);
  assert.equal(record.sessionKey, `claude-code:${SESSION}`);
  assert.equal(record.cwd, "/project");
  assert.equal(header(record)["timestamp"], record.createdAt);
  assert.match(record.createdAt, /^2026-02-11T20:30/);
  assert.deepEqual(path, entries);
  assert.deepEqual(context.map(outlineOf), [
    "user Fix the bug",
    "assistant (hm) | I look. | Bash#t1 | Bash#t2",
    "toolResult Bash#t1: one",
    "toolResult Bash#t2: two | <image/png>",
    "assistant Done.",
  ]);
  const answer = context[1];
  assert.ok(answer?.role === "assistant");
  assert.equal(answer.provider, "anthropic");
  assert.equal(answer.model, "claude-opus-4-6");
  assert.equal(answer.stopReason, "toolUse");
  assert.deepEqual(answer.content[0], { type: "thinking", thinking: "hm", signature: "sig" });
  assert.equal(answer.usage?.cacheRead, 100);
  assert.equal(answer.usage?.totalTokens, 3 + 10 + 100 + (answer.usage?.output ?? 0));
  assert.deepEqual(sentences, [
    `Imported the Claude Code session ${SESSION} as session "claude-code:${SESSION}": 5 messages (1 of the user, 2 of the assistant, 2 of tools), 2 tool calls, 1 image.`,
    "Left out, no words of the conversation: progress 3, file-history-snapshot 1.",
  ]);
});

test("a compaction becomes a summary for all before it, and the text stays", async (t) => {
  const lines = new ClaudeLines();
  const old = lines.user("the old words");
  lines.part("msg_1", { type: "text", text: "old answer" });
  const before = lines.last;
  lines.line(
    "system",
    {
      subtype: "compact_boundary",
      logicalParentUuid: before,
      compactMetadata: { trigger: "auto", preTokens: 167_094 },
    },
    null,
  );
  lines.user("This session is being continued. Summary: much.", {
    isCompactSummary: true,
    isVisibleInTranscriptOnly: true,
  });
  lines.part("msg_2", { type: "text", text: "on it" });
  const { path, context } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  assert.ok(old);
  assert.equal(path.length, 4);
  const compaction = path[2];
  assert.ok(compaction?.type === "compaction");
  assert.equal(compaction.tokensBefore, 167_094);
  assert.equal(compaction.firstKeptEntryId, compaction.id);
  assert.equal(compaction.trigger, "threshold");
  assert.equal(compaction.handledBy, "claude-code");
  assert.equal(context.length, 2);
  assert.match(
    outlineOf(context[0] ?? { role: "user", content: "" }),
    /<conversation_summary>\nThis session is being/,
  );
  assert.equal(messagesOf(path)[0]?.content, "the old words");
});

test("a compaction that keeps the end of the conversation keeps it here, with whole tool pairs", async (t) => {
  const lines = new ClaudeLines();
  lines.user("first");
  lines.call("msg_1", "t1");
  const head = lines.result("t1", "kept result");
  lines.part("msg_2", { type: "text", text: "kept answer" });
  const metadata = { trigger: "manual", preTokens: 10, preservedSegment: { headUuid: head } };
  lines.line(
    "system",
    { subtype: "compact_boundary", logicalParentUuid: lines.last, compactMetadata: metadata },
    null,
  );
  lines.user("Summary.", { isCompactSummary: true });
  const { context } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  assert.equal(pairProblem(context), undefined);
  assert.deepEqual(context.slice(1).map(outlineOf), [
    "assistant Bash#t1",
    "toolResult Bash#t1: kept result",
    "assistant kept answer",
  ]);
});

test("messages that were taken back are a branch off the path, and so is a side conversation", async (t) => {
  const lines = new ClaudeLines();
  lines.user("hello");
  const answer = lines.part("msg_1", { type: "text", text: "hi" });
  lines.user("wrong way");
  lines.part("msg_2", { type: "text", text: "going wrong" });
  const side = lines.user("look around", { isSidechain: true }, null);
  lines.user("right way", {}, answer);
  lines.part("msg_s", { type: "text", text: "looked" }, { isSidechain: true }, side);
  lines.part("msg_3", { type: "text", text: "going right" });
  const { path, entries, context } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  assert.deepEqual(messagesOf(path).map(outlineOf), [
    "user hello",
    "assistant hi",
    "user right way",
    "assistant going right",
  ]);
  assert.equal(messagesOf(entries).length, 8);
  assert.equal(pairProblem(context), undefined);
});

test("a file of a subagent is a conversation of its own", async (t) => {
  const lines = new ClaudeLines();
  const fields = { isSidechain: true, agentId: "a881341" };
  const asked = lines.user("What is there?", fields, null);
  lines.part("msg_1", { type: "text", text: "This." }, fields, asked);
  const { record, context } = await take(t, jsonLines(temporaryFolder(t), "agent.jsonl", lines.rows));
  assert.equal(record.sessionKey, `claude-code:${SESSION}:a881341`);
  assert.deepEqual(context.map(outlineOf), ["user What is there?", "assistant This."]);
});

test("input typed while the assistant worked is the user's, after the results of the open calls", async (t) => {
  const lines = new ClaudeLines();
  const queue = (operation: string, content?: string): void =>
    lines.bare({
      type: "queue-operation",
      operation,
      sessionId: SESSION,
      timestamp: lines.time(),
      ...(content === undefined ? {} : { content }),
    });
  lines.user("continue");
  const call = lines.call("msg_1", "t1");
  queue("enqueue", "continue");
  queue("enqueue", "typed and taken back");
  queue("enqueue", "hurry up");
  queue("remove");
  lines.result("t1", "ok", call);
  lines.part("msg_2", { type: "text", text: "faster" });
  lines.user("continue");
  lines.part("msg_3", { type: "text", text: "on" });
  const { path, context, sentences } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  assert.deepEqual(context.map(outlineOf), [
    "user continue",
    "assistant Bash#t1",
    "toolResult Bash#t1: ok",
    "user hurry up",
    "assistant faster",
    "user continue",
    "assistant on",
  ]);
  assert.match(JSON.stringify(path.at(-1)), /typed and taken back/);
  assert.ok(sentences.includes("Kept as data that no model sees: queued words that were never sent 1."));
});

test("user-role texts that the program wrote are notices; newer queued input is the user's", async (t) => {
  const lines = new ClaudeLines();
  lines.user("go");
  lines.user("Caveat: local commands", { isMeta: true });
  lines.user("<task-notification>\nended</task-notification>");
  lines.line("attachment", { attachment: { type: "queued_command", prompt: "also this" } });
  lines.line("attachment", { attachment: { type: "todo", items: 3 } });
  lines.part("msg_1", { type: "text", text: "API Error" }, { isApiErrorMessage: true });
  const { path, sentences } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  assert.deepEqual(
    path.map((entry) => entry.type),
    ["message", "custom_message", "custom_message", "message", "custom", "message"],
  );
  const failed = messagesOf(path).at(-1);
  assert.ok(failed?.role === "assistant");
  assert.equal(failed.stopReason, "error");
  assert.equal(failed.errorMessage, "API Error");
  assert.ok(sentences.includes("Kept as data that no model sees: attachment todo 1."));
});

test("a call without a result gets one with that information; a result without a call is kept", async (t) => {
  const lines = new ClaudeLines();
  lines.user("go");
  lines.call("msg_1", "t1");
  lines.user("never mind");
  lines.result("t9", "from nowhere");
  lines.call("msg_2", "t2");
  const { context, sentences, entries } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  assert.equal(pairProblem(context), undefined);
  assert.equal(context.filter((message) => message.role === "toolResult" && message.isError).length, 2);
  assert.match(JSON.stringify(entries), /from nowhere/);
  assert.ok(sentences.includes("2 tool calls without a result got one that says so."));
  assert.ok(sentences.includes("Kept as data that no model sees: tool result without a call 1."));
});

test("unreadable, unknown or duplicate lines are reported, and the rest is imported", async (t) => {
  const lines = new ClaudeLines();
  lines.user("before");
  lines.line("hologram", { data: 7 });
  lines.part("msg_1", { type: "text", text: "after" });
  const rows = [
    ...lines.rows.slice(0, 2),
    "{ not json",
    '"text"',
    ...lines.rows.slice(2),
    ...lines.rows.slice(2),
  ];
  const folder = temporaryFolder(t);
  const file = jsonLines(folder, "a.jsonl", [
    ...rows,
    { type: "custom-title", customTitle: "Holograms", sessionId: SESSION },
  ]);
  const { context, entries, sentences, record } = await take(t, file);
  assert.deepEqual(context.map(outlineOf), ["user before", "assistant after"]);
  assert.match(JSON.stringify(entries), /\{ not json/);
  assert.match(JSON.stringify(entries), /hologram/);
  assert.equal(record.name, "Holograms");
  assert.deepEqual(sentences.slice(1), [
    "Kept as data that no model sees: hologram 1.",
    "Left out, no words of the conversation: custom-title (the session's name) 1, line that is there twice 1.",
    "2 lines cannot be read, kept as data: line 3 (it is not JSON), line 4 (it is no JSON object).",
  ]);
});

test("parts that a message cannot represent are described in their place, large ones kept as data", async (t) => {
  const lines = new ClaudeLines();
  const pdf = {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: "x".repeat(5000) },
  };
  lines.line("user", { message: { role: "user", content: [{ type: "text", text: "read" }, pdf] } });
  lines.part("msg_1", { type: "redacted_thinking", data: "opaque" });
  lines.part("msg_1", { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } });
  const { context, entries } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  assert.match(
    outlineOf(context[0] ?? { role: "user", content: "" }),
    /^user read \| \[document, \d+ characters\]$/,
  );
  assert.match(JSON.stringify(entries.filter((entry) => entry.type === "custom")), /x{5000}/);
  const answer = context[1];
  assert.ok(answer?.role === "assistant");
  assert.deepEqual(answer.content[0], {
    type: "thinking",
    thinking: "",
    signature: "opaque",
    redacted: true,
  });
  assert.match(outlineOf(answer), /\[server_tool_use \{.*web_search/);
});

test("the same session is not imported twice, under no key, and gives the same entries after it was deleted", async (t) => {
  const lines = new ClaudeLines();
  lines.user("once");
  lines.part("msg_1", { type: "text", text: "yes" });
  const file = jsonLines(temporaryFolder(t), "a.jsonl", lines.rows);
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  const { record, entries } = await takeInto(store, file, { sessionKey: "mine" });
  assert.equal(record.sessionKey, "mine");
  const here = {
    code: "session_exists",
    message: /is here already under the key mine; use `pagurus sessions fork/,
  };
  await assert.rejects(takeInto(store, file), here);
  await assert.rejects(takeInto(store, file, { sessionKey: "other" }), here);
  store.delete("mine");
  const again = await takeInto(store, file, { sessionKey: "mine" });
  assert.deepEqual(again.entries, entries);
});

test("an export of an imported session is one of ours", async (t) => {
  const lines = new ClaudeLines();
  lines.user("hello");
  const answer = lines.part("msg_1", { type: "text", text: "hi" });
  lines.user("wrong");
  lines.call("msg_2", "t1");
  lines.user("right", {}, answer);
  const folder = temporaryFolder(t);
  const { store, record } = await take(t, jsonLines(folder, "a.jsonl", lines.rows));
  const bytes = Buffer.concat(await collect(store.export(record.sessionKey, "jsonl")));
  const file = join(folder, "export.jsonl");
  writeFileSync(file, bytes);
  const there = await take(t, file);
  assert.deepEqual(there.sentences, []);
  assert.equal(there.record.sessionKey, record.sessionKey);
  assert.deepEqual(readFileSync(there.record.file), bytes);
});

test("an imported session can be continued: a writer appends, and the ids stay in order", async (t) => {
  const lines = new ClaudeLines();
  lines.user("once");
  const { store, record, entries } = await take(t, jsonLines(temporaryFolder(t), "a.jsonl", lines.rows));
  const writer = store.openWriter(record.sessionKey, { cwd: "/project" });
  const added = writer.append({
    type: "message",
    turnId: "t1",
    message: { role: "user", content: "and on" },
  });
  writer.commitTurn({ turnId: "t1", outcome: "completed" });
  assert.equal(added.parentId, entries.at(-1)?.id);
  assert.ok(added.id > (entries.at(-1)?.id ?? ""));
  assert.deepEqual(writer.contextMessages().messages.map(outlineOf), ["user once", "user and on"]);
  writer.close();
});

test("a file without content, or of no known program, is refused and leaves nothing", async (t) => {
  const folder = temporaryFolder(t);
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  const empty = new ClaudeLines();
  empty.progress();
  const silent = jsonLines(folder, "silent.jsonl", empty.rows);
  await assert.rejects(takeInto(store, silent), { code: "import_invalid", message: /holds no message/ });
  const other = jsonLines(folder, "other.jsonl", [{ some: "thing" }]);
  await assert.rejects(takeInto(store, other), { code: "import_invalid" });
  await assert.rejects(takeInto(store, silent, { format: "cursor" }), { code: "usage_invalid" });
  await assert.rejects(takeInto(store, folder), { code: "store_read_failed" });
  assert.deepEqual(store.list(), []);
});

/** The assistant's parts of one answer, and the order of its results. */
const answers = fc.array(
  fc.record({
    texts: fc.integer({ min: 0, max: 2 }),
    calls: fc.integer({ min: 0, max: 3 }),
    order: fc.nat(5),
    early: fc.boolean(),
  }),
  { maxLength: 6 },
);

test("any order of an answer's lines and its results gives the same messages", async (t) => {
  const folder = temporaryFolder(t);
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(answers, { minLength: 1, maxLength: 3 }), async (turns) => {
      run += 1;
      const lines = new ClaudeLines();
      const expected: string[] = [];
      turns.forEach((turn, number) => {
        lines.user(`prompt ${number}`);
        expected.push(`user prompt ${number}`);
        turn.forEach(({ texts, calls, order, early }, at) => {
          const id = `msg_${number}_${at}`;
          const ids = Array.from({ length: calls }, (_, call) => `t_${number}_${at}_${call}`);
          const answerTexts = Array.from({ length: texts }, (_, text) => `text ${text}`);
          for (const text of answerTexts) lines.part(id, { type: "text", text });
          const where = new Map<string, string>();
          const done: string[] = [];
          for (const call of ids) {
            where.set(call, lines.call(id, call));
            lines.progress();
            if (!early) continue;
            // The tool ended while the answer was still being written.
            lines.result(call, `result ${call}`);
            done.push(call);
          }
          const late = ids.filter((call) => !done.includes(call));
          for (let left = order; left > 0 && late.length > 1; left -= 1) late.push(late.shift() ?? "");
          for (const call of late) lines.result(call, `result ${call}`, where.get(call) ?? null);
          if (texts + calls > 0)
            expected.push(`assistant ${[...answerTexts, ...ids.map((call) => `Bash#${call}`)].join(" | ")}`);
          for (const call of [...done, ...late]) expected.push(`toolResult Bash#${call}: result ${call}`);
        });
      });
      const file = jsonLines(
        folder,
        "a.jsonl",
        lines.rows.map((row) => ({ ...row, sessionId: `run-${run}` })),
      );
      const { path, context } = await takeInto(store, file);
      assert.deepEqual(messagesOf(path).map(outlineOf), expected);
      assert.equal(pairProblem(context), undefined);
    }),
    { numRuns: 40 },
  );
});
