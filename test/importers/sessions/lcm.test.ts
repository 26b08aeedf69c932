import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openStore, temporaryFolder } from "../../stores/files/fixtures.ts";
import { CREATED, LcmFixture } from "./lcm-fixture.ts";
import { messagesOf, pairProblem, read, take, takeInto, outlineOf } from "./support.ts";

const RAW_CALL = { type: "toolCall", id: "c1", name: "read", arguments: { path: "a.txt" } };

/** A conversation of which the first four messages are summarized. */
function story(folder: string): LcmFixture {
  const db = new LcmFixture(folder);
  const id = db.conversation({ session_id: "sess-1", session_key: "agent:main:main", title: "The story" });
  const metadata = { originalRole: "user", rawType: "text", raw: { type: "text", text: "please read" } };
  const identity = {
    originalRole: "assistant",
    modelProvider: "anthropic",
    modelApi: "anthropic-messages",
    modelId: "claude",
  };
  const thinking = { type: "thinking", thinking: "hm", thinkingSignature: "sig" };
  const messages = [
    db.message(id, 0, "user", "please read", [{ part_type: "text", text_content: "please read", metadata }]),
    db.message(id, 1, "assistant", "reading", [
      {
        part_type: "reasoning",
        text_content: "hm",
        metadata: { ...identity, rawType: "thinking", raw: thinking },
      },
      {
        part_type: "text",
        text_content: "reading",
        metadata: { rawType: "text", raw: { type: "text", text: "reading" } },
      },
      {
        part_type: "tool",
        tool_call_id: "c1",
        tool_name: "read",
        tool_input: '{"path":"a.txt"}',
        metadata: { rawType: "toolCall", raw: RAW_CALL },
      },
    ]),
    db.message(id, 2, "tool", "the words", [
      {
        part_type: "tool",
        tool_call_id: "c1",
        tool_name: "read",
        metadata: { originalRole: "toolResult", isError: false, raw: { type: "text", text: "the words" } },
      },
    ]),
    db.message(id, 3, "assistant", "they are words"),
    db.message(id, 4, "system", "a notice of the host"),
    db.message(id, 5, "assistant", "", [
      { part_type: "tool", tool_call_id: "c2", tool_name: "bash", tool_input: "ls" },
    ]),
    db.message(id, 6, "tool", "", [
      {
        part_type: "tool",
        tool_call_id: "c2",
        tool_name: "bash",
        tool_output: '{"out":1}',
        metadata: { originalRole: "toolResult", isError: true },
      },
    ]),
    db.message(id, 7, "user", "thanks"),
  ];
  db.summary(id, "sum_a", "It was asked to read.", messages.slice(0, 2));
  db.summary(id, "sum_b", "Words were found.", messages.slice(2, 4));
  db.summary(id, "sum_c", "A file was read, it has words.", ["sum_a", "sum_b"]);
  db.frontier(id, ["sum_c", ...messages.slice(4)]);
  return db;
}

test("a conversation of lossless-claw becomes a transcript, its summaries entries with their sources", async (t) => {
  const folder = temporaryFolder(t);
  story(folder).close();
  const { record, path, context, sentences } = await take(t, join(folder, "lcm.db"));
  assert.equal(record.sessionKey, "lcm:agent:main:main");
  assert.equal(record.name, "The story");
  assert.equal(record.createdAt, new Date(`${CREATED.replace(" ", "T")}Z`).toISOString());
  assert.deepEqual(messagesOf(path).map(outlineOf), [
    "user please read",
    "assistant (hm) | reading | read#c1",
    "toolResult read#c1: the words",
    "assistant they are words",
    "assistant bash#c2",
    'toolResult bash#c2: {"out":1}',
    "user thanks",
  ]);
  assert.deepEqual(context.map(outlineOf), [
    "user <conversation_summary>\nA file was read, it has words.\n</conversation_summary>",
    "user a notice of the host",
    "assistant bash#c2",
    'toolResult bash#c2: {"out":1}',
    "user thanks",
  ]);
  const [, answer] = messagesOf(path);
  assert.ok(answer?.role === "assistant");
  assert.equal(answer.model, "claude");
  assert.deepEqual(answer.content[0], { type: "thinking", thinking: "hm", signature: "sig" });
  const ids = path.filter((entry) => entry.type === "message").map((entry) => entry.id);
  const summaries = path.flatMap((entry) => (entry.type === "custom" ? [entry] : []));
  assert.deepEqual(
    summaries.map((entry) => [entry.customType, entry.data]),
    [
      ["sum_a", "leaf", 0, "It was asked to read.", ids.slice(0, 2), []],
      ["sum_b", "leaf", 0, "Words were found.", ids.slice(2, 4), []],
      ["sum_c", "condensed", 1, "A file was read, it has words.", [], ["sum_a", "sum_b"]],
    ].map(([summaryId, kind, depth, content, sourceEntryIds, sourceSummaryIds]) => [
      "pagurus.imported_summary",
      {
        format: "lcm",
        summaryId,
        kind,
        depth,
        content,
        tokens: 5,
        model: "test-model",
        earliestAt: null,
        latestAt: null,
        createdAt: "2026-04-01 11:00:00",
        sourceEntryIds,
        sourceSummaryIds,
      },
    ]),
  );
  assert.match(
    sentences[0] ?? "",
    /7 messages \(2 of the user, 3 of the assistant, 2 of tools\), 2 tool calls, 4 summaries, 1 notice\./,
  );
});

test("importing does not change the database, and no file appears next to it", async (t) => {
  const folder = temporaryFolder(t);
  story(folder).close();
  const file = join(folder, "lcm.db");
  const before = readFileSync(file);
  const names = readdirSync(folder);
  await take(t, file);
  assert.deepEqual(readFileSync(file), before);
  assert.deepEqual(readdirSync(folder), names);
});

test("a database that its program has open is read with what is not in its main file yet", async (t) => {
  const folder = temporaryFolder(t);
  const db = story(folder);
  const before = readFileSync(join(folder, "lcm.db"));
  const { path } = await take(t, join(folder, "lcm.db"));
  assert.equal(messagesOf(path).length, 7);
  assert.deepEqual(readFileSync(join(folder, "lcm.db")), before);
  db.close();
});

test("all conversations are imported, or the one that is named; one that exists already does not stop others", async (t) => {
  const folder = temporaryFolder(t);
  const db = story(folder);
  const ended = db.conversation({ session_id: "sess-0", session_key: "agent:main:main", active: 0 });
  db.message(ended, 0, "user", "before /new");
  const keyless = db.conversation({ session_id: "a b" });
  db.message(keyless, 0, "user", "without a key");
  db.conversation({ session_id: "silent" });
  db.close();
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  const one = await takeInto(store, db.file, { sessionKey: "sess-0" });
  assert.equal(one.record.sessionKey, "lcm:agent:main:main:2");
  const { sentences } = await takeInto(store, db.file);
  assert.deepEqual(
    store
      .list()
      .map((record) => record.sessionKey)
      .toSorted(),
    ["lcm:a-b:3", "lcm:agent:main:main", "lcm:agent:main:main:2"],
  );
  assert.match(sentences.join("\n"), /Not imported: The session lcm-2-sess-0 is here already under the key/);
  assert.match(sentences.join("\n"), /Not imported: The session 4-silent holds no message/);
  await assert.rejects(takeInto(store, db.file), { code: "session_exists" });
  await assert.rejects(takeInto(store, db.file, { sessionKey: "nobody" }), {
    code: "usage_invalid",
    message:
      /choose with --session one of: lcm:agent:main:main, lcm:agent:main:main:2, lcm:a b:3, lcm:silent:4\.$/,
  });
});

test("the only conversation may get another key", async (t) => {
  const folder = temporaryFolder(t);
  story(folder).close();
  const { record } = await take(t, join(folder, "lcm.db"), { sessionKey: "mine" });
  assert.equal(record.sessionKey, "mine");
});

test("summaries that end in the middle of a tool call keep the call whole; without a frontier all is shown", async (t) => {
  for (const frontier of [true, false]) {
    const folder = temporaryFolder(t);
    const db = new LcmFixture(folder);
    const id = db.conversation({ session_id: "s" });
    const call = db.message(id, 0, "assistant", "", [
      { part_type: "tool", tool_call_id: "c1", tool_name: "bash" },
    ]);
    const answer = db.message(id, 1, "tool", "out", [
      { part_type: "tool", tool_call_id: "c1", tool_output: "out", metadata: { originalRole: "toolResult" } },
    ]);
    db.summary(id, "sum_a", "A call.", [call]);
    if (frontier) db.frontier(id, ["sum_a", answer]);
    db.close();
    const { context } = await take(t, db.file);
    assert.equal(pairProblem(context), undefined);
    assert.deepEqual(context.map(outlineOf).slice(frontier ? 1 : 0), [
      "assistant bash#c1",
      "toolResult bash#c1: out",
    ]);
  }
});

test("parts are the host's originals, whatever the columns next to them have", async (t) => {
  const db = new LcmFixture(temporaryFolder(t));
  const id = db.conversation({ session_id: "s" });
  const call = { type: "tool_use", id: "c1", name: "read", input: { path: "a" } };
  // The column of the call's id has the answer's own id.
  db.message(id, 0, "assistant", "look", [
    {
      part_type: "text",
      tool_call_id: "msg_9",
      text_content: "look",
      metadata: { raw: { type: "text", text: "look" } },
    },
    {
      part_type: "tool",
      tool_call_id: "c1",
      tool_name: "read",
      tool_input: '"{\\"path\\":\\"b\\"}"',
      metadata: { raw: call },
    },
    { part_type: "tool", tool_call_id: "c2", tool_name: "bash", tool_input: '"{\\"command\\":\\"ls\\"}"' },
  ]);
  const results = ["c1", "c2"].map((callId) => ({
    type: "tool_result",
    tool_use_id: callId,
    content: `out of ${callId}`,
  }));
  db.message(id, 1, "user", "and more", [
    ...results.map((raw) => ({
      part_type: "tool",
      tool_call_id: raw.tool_use_id,
      metadata: { originalRole: "user", raw },
    })),
    {
      part_type: "text",
      text_content: "and more",
      metadata: { originalRole: "user", raw: { type: "text", text: "and more" } },
    },
  ]);
  db.message(id, 2, "assistant", "", [
    {
      part_type: "reasoning",
      metadata: { topLevelReasoningContent: "because", topLevelReasoningOnly: true },
    },
  ]);
  db.close();
  const { context } = await take(t, db.file);
  assert.deepEqual(context.map(outlineOf), [
    "assistant look | read#c1 | bash#c2",
    "toolResult read#c1: out of c1",
    "toolResult bash#c2: out of c2",
    "user and more",
    "assistant (because)",
  ]);
  const [answer] = context;
  assert.ok(answer?.role === "assistant");
  assert.deepEqual(
    answer.content.flatMap((part) => (part.type === "toolCall" ? part.arguments : [])),
    [{ path: "a" }, { command: "ls" }],
  );
});

test("large files next to the database are imported, files elsewhere on the machine never", async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "lcm-files", "1"), { recursive: true });
  writeFileSync(join(folder, "lcm-files", "1", "file_a.txt"), "all the words");
  writeFileSync(join(folder, "secret.txt"), "a secret");
  const db = new LcmFixture(folder);
  const id = db.conversation({ session_id: "s" });
  db.message(id, 0, "user", "[LCM File: file_a]");
  const file = { conversation_id: id, created_at: CREATED };
  db.insert("large_files", { ...file, file_id: "file_a", storage_uri: "/old/home/lcm-files/1/file_a.txt" });
  db.insert("large_files", { ...file, file_id: "file_b", storage_uri: join(folder, "secret.txt") });
  db.insert("large_files", {
    ...file,
    file_id: "file_c",
    storage_uri: join(folder, "lcm-files/../secret.txt"),
  });
  db.close();
  const { entries, sentences } = await take(t, db.file);
  assert.match(JSON.stringify(entries), /all the words/);
  assert.doesNotMatch(JSON.stringify(entries), /a secret/);
  assert.match(sentences.join("\n"), /2 large files could not be read from .*lcm-files/);
});

test("a database of another program, a broken one, and one of an early version are handled", async (t) => {
  const folder = temporaryFolder(t);
  new LcmFixture(folder, "CREATE TABLE birds (name TEXT)").close();
  await assert.rejects(take(t, join(folder, "lcm.db")), {
    code: "import_invalid",
    message: /it is a database without the table conversations/,
  });
  const broken = join(folder, "broken.db");
  writeFileSync(broken, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(4000, 7)]));
  await assert.rejects(take(t, broken), { code: "import_invalid" });
  const early = new LcmFixture(
    temporaryFolder(t),
    `CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY, session_id TEXT);
     CREATE TABLE messages (message_id INTEGER PRIMARY KEY, conversation_id INTEGER, seq INTEGER, role TEXT, content TEXT, created_at TEXT);`,
  );
  early.insert("conversations", { session_id: "s" });
  early.message(1, 0, "user", "early words");
  early.close();
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  const record = await store.import(early.file);
  assert.deepEqual((await read(store, record)).context.map(outlineOf), ["user early words"]);
});
