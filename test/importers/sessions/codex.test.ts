import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { FRAGMENT_ENTRY, type FragmentNote } from "../../../packages/contract/src/fragment.ts";
import type { NativeHistory } from "../../../packages/contract/src/harness/native.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { openStore, temporaryFolder } from "../../stores/files/fixtures.ts";
import { jsonLines, messagesOf, pairProblem, read, take, takeInto, outlineOf, type Row } from "./support.ts";

const ID = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5";
const NAME = `rollout-2025-10-29T00-59-38-${ID}.jsonl`;

let clock = 0;
function row(type: string, payload: Row): Row {
  clock += 1;
  return { timestamp: new Date(Date.UTC(2025, 9, 29, 1, 0, clock % 3600)).toISOString(), type, payload };
}
const item = (payload: Row): Row => row("response_item", payload);
const event = (payload: Row): Row => row("event_msg", payload);
const messageRow = (role: string, text: string): Row => {
  const type = role === "assistant" ? "output_text" : "input_text";
  return item({ type: "message", role, content: [{ type, text }] });
};
const call = (id: string, name = "shell"): Row =>
  item({ type: "function_call", name, arguments: `{"cmd":"run ${id}"}`, call_id: id });
const output = (id: string, value: unknown): Row =>
  item({ type: "function_call_output", call_id: id, output: value });
const meta = row("session_meta", {
  id: ID,
  timestamp: "2025-10-29T00:59:38.308Z",
  cwd: "/project",
  cli_version: "0.46.0",
  model_provider: "openai",
});

test("a Codex rollout becomes a transcript: items are joined into answers, calls have their results", async (t) => {
  const rows = [
    meta,
    messageRow("developer", "<permissions instructions>be careful"),
    messageRow("user", "<environment_context>cwd</environment_context>"),
    messageRow("user", "fix it"),
    event({ type: "user_message", message: "fix it" }),
    row("turn_context", { cwd: "/project", model: "gpt-5-codex" }),
    item({
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "thinking" }],
      encrypted_content: "gAAA",
    }),
    messageRow("assistant", "I look."),
    call("c1"),
    item({ type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "*** Begin Patch" }),
    event({
      type: "token_count",
      info: {
        last_token_usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 7, total_tokens: 107 },
      },
    }),
    output("c1", [
      { type: "input_text", text: "seen" },
      { type: "input_image", image_url: "data:image/png;base64,QUJD" },
    ]),
    item({ type: "custom_tool_call_output", call_id: "c2", output: "Success" }),
    item({
      type: "local_shell_call",
      call_id: "c3",
      status: "completed",
      action: { type: "exec", command: ["ls"] },
    }),
    output("c3", { content: "denied", success: false }),
    item({ type: "web_search_call", status: "completed", action: { type: "search", query: "weather" } }),
    messageRow("assistant", "Done."),
  ];
  const { record, context, sentences, entries } = await take(t, jsonLines(temporaryFolder(t), NAME, rows));
  assert.equal(record.sessionKey, `codex:${ID}`);
  assert.equal(record.cwd, "/project");
  assert.equal(record.createdAt, "2025-10-29T00:59:38.308Z");
  assert.deepEqual(context.map(outlineOf), [
    "user fix it",
    "assistant (thinking) | I look. | shell#c1 | apply_patch#c2",
    "toolResult shell#c1: seen | <image/png>",
    "toolResult apply_patch#c2: Success",
    "assistant local_shell#c3",
    "toolResult local_shell#c3: denied",
    `assistant [web_search_call {"type":"web_search_call","status":"completed","action":{"type":"search","query":"weather"}}] | Done.`,
  ]);
  const [, answer, , , , failed] = context;
  assert.ok(answer?.role === "assistant" && failed?.role === "toolResult");
  assert.equal(answer.model, "gpt-5-codex");
  assert.deepEqual(answer.usage, { input: 40, output: 7, cacheRead: 60, totalTokens: 107 });
  assert.deepEqual(answer.content[0], {
    type: "thinking",
    thinking: "thinking",
    signature: `{"id":"rs_1","encrypted":"gAAA"}`,
  });
  assert.deepEqual(answer.content[2], {
    type: "toolCall",
    id: "c1",
    name: "shell",
    arguments: { cmd: "run c1" },
  });
  assert.deepEqual(answer.content[3], {
    type: "toolCall",
    id: "c2",
    name: "apply_patch",
    arguments: { input: "*** Begin Patch" },
  });
  assert.equal(failed.isError, true);
  assert.match(JSON.stringify(entries), /be careful/);
  assert.deepEqual(sentences.slice(1), [
    "Kept as data that no model sees: developer context of Codex 1, user context of Codex 1.",
    "Left out, no words of the conversation: event token_count 1, event user_message 1, session_meta 1, turn_context 1.",
  ]);
});

test("a Codex compaction keeps its summary in place, an encrypted one leaves the conversation whole", async (t) => {
  const plain = [
    meta,
    messageRow("user", "old"),
    messageRow("assistant", "older"),
    row("compacted", { message: "It was old." }),
    messageRow("user", "new"),
  ];
  const first = await take(t, jsonLines(temporaryFolder(t), NAME, plain));
  assert.deepEqual(first.context.map(outlineOf), [
    "user <conversation_summary>\nIt was old.\n</conversation_summary>",
    "user new",
  ]);
  assert.equal(messagesOf(first.path).length, 3);
  const opening = "Another language model started to solve this problem. Its summary: all fine.";
  const history = [
    { type: "message", role: "user", content: [{ type: "input_text", text: "old" }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: opening }] },
  ];
  const replaced = [
    ...plain.slice(0, 3),
    row("compacted", { message: "", replacement_history: history }),
    messageRow("user", "new"),
  ];
  const second = await take(t, jsonLines(temporaryFolder(t), NAME, replaced));
  assert.match(outlineOf(second.context[0] ?? { role: "user", content: "" }), /Its summary: all fine\./);
  const sealed = [{ type: "compaction", encrypted_content: "gAAA" }];
  const encrypted = [
    ...plain.slice(0, 3),
    row("compacted", { message: "", replacement_history: sealed }),
    messageRow("user", "new"),
  ];
  const third = await take(t, jsonLines(temporaryFolder(t), NAME, encrypted));
  assert.deepEqual(third.context.map(outlineOf), ["user old", "assistant older", "user new"]);
  assert.match(
    third.sentences.join("\n"),
    /The compaction of line 4 is encrypted; the conversation before it stays/,
  );
});

test("turns that were rolled back are a branch off the path", async (t) => {
  const rows = [
    meta,
    messageRow("user", "one"),
    messageRow("assistant", "first"),
    messageRow("user", "two"),
    call("c1"),
    output("c1", "x"),
    messageRow("user", "three"),
    messageRow("assistant", "third"),
    event({ type: "thread_rolled_back", num_turns: 2 }),
    messageRow("user", "four"),
    event({ type: "thread_name_updated", thread_name: "Counting" }),
  ];
  const { path, entries, record } = await take(t, jsonLines(temporaryFolder(t), NAME, rows));
  assert.deepEqual(messagesOf(path).map(outlineOf), ["user one", "assistant first", "user four"]);
  assert.equal(messagesOf(entries).length, 8);
  assert.equal(record.name, "Counting");
});

test("a rollback at the end moves the leaf", async (t) => {
  const rows = [
    meta,
    messageRow("user", "one"),
    messageRow("assistant", "first"),
    messageRow("user", "two"),
    event({ type: "thread_rolled_back", num_turns: 1 }),
  ];
  const { path, entries } = await take(t, jsonLines(temporaryFolder(t), NAME, rows));
  assert.deepEqual(messagesOf(path).map(outlineOf), ["user one", "assistant first"]);
  assert.equal(entries.at(-1)?.type, "rewind");
  const all = await take(
    t,
    jsonLines(temporaryFolder(t), NAME, [...rows, event({ type: "thread_rolled_back", num_turns: 1 })]),
  );
  assert.deepEqual(all.path, []);
  assert.equal(all.record.entryCount, 4);
});

test("user messages between a call and its result come after the result", async (t) => {
  const rows = [
    meta,
    messageRow("user", "go"),
    call("c1"),
    messageRow("user", "wait"),
    output("c1", "went"),
    messageRow("assistant", "ok"),
  ];
  const { context } = await take(t, jsonLines(temporaryFolder(t), NAME, rows));
  assert.deepEqual(context.map(outlineOf), [
    "user go",
    "assistant shell#c1",
    "toolResult shell#c1: went",
    "user wait",
    "assistant ok",
  ]);
});

test("the first versions' bare lines are read too, and a torn last line is reported", async (t) => {
  const bare = (value: Row): Row => value["payload"] as Row;
  const rows = [
    { id: ID, timestamp: "2025-05-07T17:24:21.123Z", instructions: null },
    { record_type: "state" },
    bare(messageRow("user", "hi")),
    bare(call("c1")),
    bare(output("c1", "out")),
    bare(messageRow("assistant", "ho")),
  ];
  const folder = temporaryFolder(t);
  const file = jsonLines(folder, NAME, rows);
  const { writeFileSync } = await import("node:fs");
  writeFileSync(file, '{"type":"message","role":"us', { flag: "a" });
  const { context, record, sentences } = await take(t, file);
  assert.equal(record.sessionKey, `codex:${ID}`);
  assert.deepEqual(context.map(outlineOf), [
    "user hi",
    "assistant shell#c1",
    "toolResult shell#c1: out",
    "assistant ho",
  ]);
  assert.match(sentences.join("\n"), /1 line cannot be read, kept as data: line 7 \(it is cut off\)/);
});

test("any order of items gives a context whose calls have their results, and loses no text", async (t) => {
  const folder = temporaryFolder(t);
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  const kinds = fc.constantFrom("user", "assistant", "call", "output", "rollback", "compacted");
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(kinds, fc.nat(3)), { minLength: 1, maxLength: 25 }), async (steps) => {
      run += 1;
      const rows = [row("session_meta", { id: `run-${run}` }), messageRow("user", "begin")];
      steps.forEach(([kind, number], at) => {
        const text = `text-${at}.`;
        if (kind === "user" || kind === "assistant") rows.push(messageRow(kind, text));
        else if (kind === "call") rows.push(call(`c${number}`));
        else if (kind === "output") rows.push(output(`c${number}`, text));
        else if (kind === "compacted") rows.push(row("compacted", { message: text }));
        else rows.push(event({ type: "thread_rolled_back", num_turns: number }));
      });
      const { context, entries } = await takeInto(store, jsonLines(folder, "rollout.jsonl", rows));
      assert.equal(pairProblem(context), undefined);
      const all = JSON.stringify(entries);
      steps.forEach(([kind], at) => {
        if (kind !== "call" && kind !== "rollback") assert.ok(all.includes(`text-${at}.`), `text-${at}`);
      });
    }),
    { numRuns: 60 },
  );
});

function fragments(entries: readonly TranscriptEntry[]): string[] {
  return entries.flatMap((entry) => {
    if (entry.type !== "custom" || entry.customType !== FRAGMENT_ENTRY) return [];
    const { key, kind, text } = entry.data as FragmentNote;
    return [`${kind} ${key}: ${text}`];
  });
}

test("a recorded rollout of 0.169.0 gives its whole conversation, and its fragments have no author", async (t) => {
  const recorded = join(import.meta.dirname, "rollout-0.169.0.jsonl");
  const { path, context, sentences } = await take(t, recorded);
  assert.deepEqual(messagesOf(path).map(outlineOf), [
    "user first question",
    "assistant (I think) | I look. | exec_command#c1 | lookup#c2",
    "toolResult exec_command#c1: Chunk ID: f15f57\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 5\nOutput:\nhello-from-shell\n",
    "toolResult lookup#c2: looked up",
    "assistant Found it.",
    "user second question",
    "assistant second answer",
    "user third question",
    "user after compaction",
    "assistant answer 6",
  ]);
  assert.deepEqual(fragments(path), [
    "untrusted tab: <external_tab>The tab shows the harbour</external_tab>",
    "application task: <task>Rerun in progress</task>",
    "untrusted tab: <external_tab>Other</external_tab>",
  ]);
  assert.match(outlineOf(context[0] ?? { role: "user", content: "" }), /SUMMARY-OF-ALL/);
  assert.deepEqual(context.slice(1).map(outlineOf), ["user after compaction", "assistant answer 6"]);
  assert.match(sentences[0] ?? "", /1 summary, 3 pieces of additional context\.$/);
  const [, first] = messagesOf(path);
  assert.equal(first?.role === "assistant" && first.usage?.totalTokens, 9976);
});

test("fragments of versions that do not name them are recognized by their form; the same text of a user stays his", async (t) => {
  const mine = messageRow("user", "<external_tab>mine</external_tab>");
  const kinds = { content_item_kinds: ["user.text"] };
  const named = {
    ...mine,
    payload: { ...(mine["payload"] as Row), internal_chat_message_metadata_passthrough: kinds },
  };
  const rows = [
    meta,
    messageRow("developer", "<permissions instructions>all</permissions instructions>"),
    messageRow("developer", "<my task>run</my task>"),
    messageRow("user", "<external_tab>The <b>tab</b></external_tab>"),
    messageRow("user", "<external_tab>not</external_tab> a fragment"),
    named,
    messageRow("assistant", "ok"),
    item({ type: "function_call_output", name: "tab", namespace: "agent", output: "now" }),
    messageRow("user", "<turn_aborted>\nThe user interrupted the turn.\n</turn_aborted>"),
  ];
  const { path, sentences } = await take(t, jsonLines(temporaryFolder(t), NAME, rows));
  assert.deepEqual(fragments(path), [
    "application my task: <my task>run</my task>",
    "untrusted tab: <external_tab>The <b>tab</b></external_tab>",
    "untrusted tab: <external_tab>now</external_tab>",
  ]);
  assert.deepEqual(messagesOf(path).map(outlineOf), [
    "user <external_tab>not</external_tab> a fragment",
    "user <external_tab>mine</external_tab>",
    "assistant ok",
  ]);
  assert.match(sentences.join("\n"), /developer context of Codex 1, user context of Codex 1/);
});

test("a corrupt line is reported and loses nothing else; an event reports a failed call", async (t) => {
  const failed = { type: "CommandExecution", id: "c1", status: "failed" };
  const rows = [
    meta,
    messageRow("user", "go"),
    call("c1"),
    '{"type":"response_item","payload":{',
    event({ type: "item_completed", item: failed }),
    output("c1", "exit 1"),
    messageRow("assistant", "it failed"),
  ];
  const { context, sentences } = await take(t, jsonLines(temporaryFolder(t), NAME, rows));
  assert.deepEqual(context.map(outlineOf), [
    "user go",
    "assistant shell#c1",
    "toolResult shell#c1: exit 1",
    "assistant it failed",
  ]);
  assert.equal(context[2]?.role === "toolResult" && context[2].isError, true);
  assert.match(sentences.join("\n"), /1 line cannot be read, kept as data: line 4 \(it is not JSON\)/);
});

test("a thread that was forked, or whose turns were taken back, begins in another file, up to its fork point", async (t) => {
  const home = temporaryFolder(t);
  const folder = join(home, "sessions/2026/01/02");
  const archive = join(home, "archived_sessions");
  for (const each of [folder, archive]) mkdirSync(each, { recursive: true });
  const rootId = ID.replace(/^0/, "1");
  const midId = ID.replace(/^0/, "2");
  const header = (id: string, base?: Row): Row =>
    row("session_meta", { id, cwd: "/project", ...(base ? { history_base: base } : {}) });
  const kept = [
    header(rootId),
    messageRow("user", "one"),
    call("c1"),
    output("c1", "x"),
    messageRow("assistant", "first"),
  ];
  const bytes = kept.map((each) => `${JSON.stringify(each)}\n`).join("").length;
  jsonLines(archive, `rollout-2026-01-01T00-00-00-${rootId}.jsonl`, [
    ...kept,
    messageRow("user", "not in the fork"),
  ]);
  const middle = [header(midId, { thread_id: rootId, end_byte_offset: bytes }), messageRow("user", "two")];
  jsonLines(folder, `rollout-2026-01-02T00-00-00-${rootId}_${midId}.jsonl`, middle);
  const own = [
    header(ID, { thread_id: midId, end_byte_offset: 1_000_000 }),
    messageRow("user", "three"),
    messageRow("assistant", "third"),
  ];
  const { record, context } = await take(t, jsonLines(folder, NAME, own));
  assert.deepEqual([record.sessionId, record.cwd], [`codex-${ID}`, "/project"]);
  assert.deepEqual(context.map(outlineOf), [
    "user one",
    "assistant shell#c1",
    "toolResult shell#c1: x",
    "assistant first",
    "user two",
    "user three",
    "assistant third",
  ]);
  const alone = await take(t, jsonLines(temporaryFolder(t), NAME, own));
  assert.deepEqual(alone.context.map(outlineOf), ["user three", "assistant third"]);
  assert.match(alone.sentences.join("\n"), new RegExp(`begins in that of ${midId}, whose file is not there`));
});

test("messages of a runtime become a session, and an empty one under the key is replaced", async (t) => {
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  store.create("taken", { cwd: "/old" });
  const history: NativeHistory = {
    runtime: "other",
    nativeId: "thread-1",
    cwd: "/project",
    messages: [
      { role: "user", content: "<a>b</a>", fragment: { key: "a", kind: "application" } },
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "toolCall", id: "c1", name: "look", arguments: {} }] },
      { role: "toolResult", toolCallId: "c1", toolName: "look", content: [], isError: false },
    ],
  };
  const record = await store.import(history, { sessionKey: "taken" });
  assert.deepEqual([record.sessionId, record.cwd, record.generation], ["other-thread-1", "/project", 2]);
  const { path } = await read(store, record);
  assert.deepEqual(fragments(path), ["application a: <a>b</a>"]);
  assert.deepEqual(messagesOf(path).map(outlineOf), ["user go", "assistant look#c1", "toolResult look#c1: "]);
  await assert.rejects(store.import({ ...history, nativeId: "thread-2" }, { sessionKey: "taken" }), {
    code: "session_exists",
  });
  const writer = store.openWriter("busy", { cwd: "/" });
  await assert.rejects(store.import({ ...history, nativeId: "thread-3" }, { sessionKey: "busy" }), {
    code: "session_locked",
  });
  writer.close();
});
