import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import {
  assistant,
  collect,
  entriesOf,
  openStore,
  orphanLock,
  sayTurn,
  temporaryFolder,
  textOf,
  toolResult,
  user,
  withoutSums,
} from "./fixtures.ts";

const CWD = { cwd: "/project" };

function storeIn(t: TestContext): { store: SessionStore; dir: string } {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  t.after(() => store.close());
  return { store, dir };
}

function code(expected: string): (error: unknown) => boolean {
  return (error) => {
    assert.equal((error as { code?: unknown }).code, expected, String(error));
    return true;
  };
}

test("a new session writes a header with its key, private files and ordered ids", (t) => {
  const { store, dir } = storeIn(t);
  const writer = store.openWriter("agent:main:x", CWD);
  assert.equal(writer.leafId, null);
  const ids = ["t1", "t2"].flatMap((turn) => sayTurn(writer, turn, turn));
  assert.deepEqual(ids, ids.toSorted());
  for (const id of ids) assert.match(id, /^[0-9a-z]{16}$/);
  const [header] = readFileSync(writer.record.file, "utf8").split("\n");
  const { id, key, version, cwd } = JSON.parse(header ?? "") as Record<string, unknown>;
  assert.deepEqual(
    { id, key, version, cwd },
    { id: writer.record.sessionId, key: "agent:main:x", version: 3, cwd: "/project" },
  );
  assert.ok(entriesOf(writer.record.file).every((entry) => entry.epoch === 1));
  assert.equal(statSync(join(dir, "sessions")).mode & 0o777, 0o700);
  for (const name of readdirSync(dir, { recursive: true, withFileTypes: true }))
    if (name.isFile()) assert.equal(statSync(join(name.parentPath, name.name)).mode & 0o077, 0, name.name);
  writer.close();
  assert.throws(() => writer.append({ type: "message", message: user("late") }), code("store_write_failed"));
});

test("invalid keys are refused, and a missing one is not created when the caller forbids it", (t) => {
  const { store } = storeIn(t);
  for (const key of ["", "a b", "../x", "a\n", "-x", "x".repeat(201)])
    assert.throws(() => store.openWriter(key, CWD), code("session_key_invalid"), JSON.stringify(key));
  assert.throws(() => store.openWriter("none", { ...CWD, create: false }), code("session_not_found"));
  assert.throws(() => store.openReader("none"), code("session_not_found"));
  assert.throws(() => store.delete("none"), code("session_not_found"));
  assert.equal(store.find("none"), undefined);
  assert.deepEqual(store.list(), []);
});

test("a clock that is set back makes neither a smaller entry id nor an older generation", (t) => {
  const dir = temporaryFolder(t);
  let now = 2_000_000_000_000;
  const store = openStore(dir, () => now);
  const first = store.openWriter("main", CWD);
  const [early = ""] = sayTurn(first, "t1", "one");
  first.close();
  now -= 1_000_000;
  const second = store.openWriter("main", CWD);
  const [late = ""] = sayTurn(second, "t2", "two");
  assert.ok(late > early);
  second.close();
  const renewed = store.renew("main", CWD);
  assert.equal(store.find("main")?.sessionId, renewed.sessionId);
  store.close();
});

test("a turn is committed once, also after reopening and after the index was lost", (t) => {
  const { store, dir } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "one");
  assert.equal(writer.commitTurn({ turnId: "t1", outcome: "failed" }), false);
  writer.close();
  const again = store.openWriter("main", CWD);
  assert.equal(again.commitTurn({ turnId: "t1", outcome: "failed" }), false);
  again.close();
  store.close();
  rmSync(join(dir, "sessions.db"));
  const reopened = openStore(dir);
  const third = reopened.openWriter("main", CWD);
  assert.deepEqual(
    third.notices.map((notice) => notice.kind),
    ["index_rebuilt"],
  );
  assert.equal(third.commitTurn({ turnId: "t1", outcome: "failed" }), false);
  assert.equal(third.contextMessages().messages.length, 2);
  third.close();
  reopened.close();
});

test("a corrupt index is built again from the transcripts", (t) => {
  const { store, dir } = storeIn(t);
  for (const key of ["a", "b"]) {
    const writer = store.openWriter(key, CWD);
    sayTurn(writer, "t1", `word-${key}`);
    writer.close();
  }
  const before = store.list();
  store.close();
  for (const suffix of ["-wal", "-shm"]) rmSync(join(dir, `sessions.db${suffix}`), { force: true });
  writeFileSync(join(dir, "sessions.db"), "this is no database".repeat(1000));
  const reopened = openStore(dir);
  assert.deepEqual(reopened.list(), before);
  assert.equal(reopened.search("word-b").length, 2);
  const reader = reopened.openReader("a");
  assert.equal(reader.notices[0]?.kind, "index_rebuilt");
  reader.close();
  reopened.close();
});

test("a turn that a crash cut off is closed at the next write and reported before by a reader", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "one");
  writer.append({ type: "message", turnId: "t2", message: user("two") });
  writer.append({ type: "message", turnId: "t2", message: assistant("", ["c1", "c2", "c3"]) });
  writer.append({ type: "message", turnId: "t2", message: toolResult("c2", "done") });
  const { file } = writer.record;
  orphanLock(file);
  const before = readFileSync(file);
  const reader = store.openReader("main");
  assert.deepEqual(reader.interruptedTurns(), ["t2"]);
  reader.close();
  assert.deepEqual(readFileSync(file), before);
  const next = store.openWriter("main", CWD);
  assert.deepEqual(
    next.notices.map(({ kind, turnId }) => [kind, turnId]),
    [
      ["stale_lock_taken", undefined],
      ["interrupted_turn", "t2"],
    ],
  );
  const added = entriesOf(file).slice(-3);
  assert.deepEqual(
    added.map((entry) => (entry.type === "message" ? { ...entry.message, timestamp: 0 } : entry.type)),
    [
      ...["c1", "c3"].map((toolCallId) => ({
        role: "toolResult",
        toolCallId,
        toolName: "shell",
        content: [
          {
            type: "text",
            text: "The turn was interrupted before this tool call finished; its outcome is unknown.",
          },
        ],
        isError: true,
        timestamp: 0,
      })),
      "turn_commit",
    ],
  );
  assert.deepEqual(
    added.map((entry) => entry.epoch),
    [2, 2, 2],
  );
  assert.throws(
    () => writer.append({ type: "message", turnId: "t2", message: user("x") }),
    code("lock_lost"),
  );
  writer.close();
  next.append({ type: "message", turnId: "t3", message: user("goes on") });
  next.close();
});

test("a torn last line is set aside by a writer and left alone by a reader", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "one");
  writer.close();
  const { file } = writer.record;
  const whole = readFileSync(file);
  for (const torn of ['{"type":"message","id":"0', '{"type":"message","id":"0\n', "\0\0\0\0"]) {
    appendFileSync(file, torn);
    const reader = store.openReader("main");
    assert.deepEqual(
      reader.notices.map((notice) => notice.kind),
      ["torn_line"],
    );
    assert.equal(reader.contextMessages().messages.length, 2);
    reader.close();
    assert.equal(statSync(file).size, whole.length + torn.length);
    const next = store.openWriter("main", CWD);
    assert.deepEqual(
      next.notices.map((notice) => notice.kind),
      ["torn_line"],
    );
    next.close();
    assert.deepEqual(readFileSync(file), whole);
    assert.ok(readFileSync(`${file}.torn`).includes(torn.trimEnd()));
  }
});

test("a last entry that only lacks its newline is kept", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "one");
  writer.close();
  const { file } = writer.record;
  const whole = readFileSync(file);
  writeFileSync(file, whole.subarray(0, -1));
  const next = store.openWriter("main", CWD);
  assert.equal(next.contextMessages().messages.length, 2);
  next.close();
  assert.deepEqual(readFileSync(file), whole);
});

test("garbage in the middle is recorded and skipped, and the conversation continues around it", async (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "one");
  sayTurn(writer, "t2", "two");
  sayTurn(writer, "t3", "three");
  writer.close();
  const { file } = writer.record;
  const lines = readFileSync(file, "utf8").split("\n");
  // The user's message of the second turn is lost, and a line of noise is in its place.
  lines.splice(4, 1, "x".repeat(lines[4]?.length ?? 0));
  lines.splice(2, 0, '{"type":"noise"}');
  const damaged = lines.join("\n");
  writeFileSync(file, damaged);
  const expected = ["one", "answer to one", "answer to two", "three", "answer to three"];
  const reader = store.openReader("main");
  assert.deepEqual(reader.notices.map((notice) => notice.kind).toSorted(), [
    "index_rebuilt",
    "quarantined_line",
  ]);
  assert.deepEqual(reader.contextMessages().messages.map(textOf), expected);
  assert.equal((await collect(reader.cursor.forward())).length, 8);
  reader.close();
  assert.equal(existsSync(`${file}.quarantine`), false);
  const next = store.openWriter("main", CWD);
  assert.deepEqual(
    next.notices.map((notice) => notice.kind),
    ["index_rebuilt", "quarantined_line"],
  );
  assert.deepEqual(next.contextMessages().messages.map(textOf), expected);
  next.close();
  assert.equal(readFileSync(file, "utf8"), damaged);
  const records = readFileSync(`${file}.quarantine`, "utf8").trimEnd().split("\n");
  for (const record of records) {
    const { offset, length } = JSON.parse(record) as { offset: number; length: number };
    assert.match(damaged.slice(offset, offset + length), /^(x+|\{"type":"noise"\})\n$/);
  }
  assert.equal(records.length, 2);
  const quiet = store.openWriter("main", CWD);
  assert.deepEqual(quiet.notices, []);
  quiet.close();
});

test("another program's edit of a transcript is detected and read as it is", async (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  const [first = ""] = sayTurn(writer, "t1", "one");
  const [third = ""] = sayTurn(writer, "t2", "two");
  writer.close();
  const { file } = writer.record;
  const edited = withoutSums(readFileSync(file, "utf8"));
  writeFileSync(file, edited.replace('"content":"one"', '"content":"one and more"'));
  const reader = store.openReader("main");
  assert.deepEqual(
    reader.notices.map((notice) => notice.kind),
    ["index_rebuilt"],
  );
  assert.deepEqual(reader.contextMessages().messages.map(textOf)[0], "one and more");
  const entry = await reader.cursor.get(first);
  assert.equal(entry?.type === "message" && textOf(entry.message), "one and more");
  assert.equal((await reader.cursor.get(third))?.id, third);
  reader.close();
});

test("an append after another program wrote to the file is refused", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  appendFileSync(writer.record.file, "x");
  assert.throws(() => writer.append({ type: "message", message: user("x") }), code("lock_lost"));
  writer.close();
});

test("a second writer is refused with the owner's name, in one process too", (t) => {
  const { store, dir } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  const other = openStore(dir);
  for (const candidate of [store, other])
    assert.throws(() => candidate.openWriter("main", { ...CWD, deadlineMs: 50 }), {
      code: "session_locked",
      message: "A turn of this session is already running in this process; wait for it or steer it.",
    });
  const lock = writer.record.file.replace(/\.jsonl$/, ".lock");
  const mine = readFileSync(lock, "utf8");
  writeFileSync(lock, JSON.stringify({ pid: process.ppid, host: hostname(), epoch: 1, acquiredAt: "then" }));
  assert.throws(
    () => store.openWriter("main", CWD),
    (error) => code("session_locked")(error) && String(error).includes(`process ${process.ppid} `),
  );
  writeFileSync(lock, mine);
  assert.throws(() => store.delete("main"), code("session_locked"));
  writer.close();
  other.openWriter("main", CWD).close();
  other.close();
});

test("message objects stay the same between openings, and the stored message holds no entry id", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  writer.append({ type: "message", turnId: "t1", message: { ...user("one"), entryId: "zzz" } });
  sayTurn(writer, "t1", "more");
  const first = writer.contextMessages().messages;
  writer.close();
  const next = store.openWriter("main", CWD);
  sayTurn(next, "t2", "two");
  const second = next.contextMessages().messages;
  first.forEach((message, at) => assert.equal(second[at], message));
  const reader = store.openReader("main");
  reader.contextMessages().messages.forEach((message, at) => assert.equal(second[at], message));
  reader.close();
  next.close();
  assert.ok(!readFileSync(next.record.file, "utf8").includes("entryId"));
  assert.ok(second.every((message) => message.entryId !== undefined));
});

test("unfinalized turns are offered until they are marked, rewound ones not at all", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  const leaf = sayTurn(writer, "t1", "one")[1] ?? "";
  for (const turnId of ["t2", "t3"]) {
    writer.append({ type: "message", turnId, message: user(turnId) });
    writer.commitTurn({ turnId, outcome: "completed", finalized: false });
  }
  assert.deepEqual(
    [...writer.unfinalizedTurns()].map(({ turnId, messages }) => [turnId, messages.map(textOf)]),
    [
      ["t2", ["t2"]],
      ["t3", ["t3"]],
    ],
  );
  writer.markFinalized("t2");
  writer.markFinalized("t2");
  writer.close();
  const next = store.openWriter("main", CWD);
  assert.deepEqual(
    [...next.unfinalizedTurns()].map((turn) => turn.turnId),
    ["t3"],
  );
  next.rewind(leaf);
  assert.deepEqual([...next.unfinalizedTurns()], []);
  next.close();
});

test("a slice of the context begins at a turn and says whether it is complete", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  for (let turn = 0; turn < 20; turn += 1) sayTurn(writer, `t${turn}`, `turn ${turn}`);
  const slice = writer.contextMessages({ maxBytes: 1_500 });
  assert.equal(slice.complete, false);
  assert.equal(slice.messages[0]?.role, "user");
  assert.ok(slice.messages.length < 12);
  assert.equal(writer.contextMessages().messages.length, 40);
  assert.equal(writer.contextMessages({ maxBytes: 1e9 }).complete, true);
  writer.close();
});

test("reading an empty home creates nothing, and sees what comes later", (t) => {
  const home = temporaryFolder(t);
  const dir = join(home, "agents", "main");
  const store = openStore(dir);
  t.after(() => store.close());
  assert.deepEqual(store.list(), []);
  assert.equal(store.find("main"), undefined);
  assert.deepEqual(store.search("words"), []);
  assert.throws(() => store.openReader("main"), code("session_not_found"));
  assert.throws(() => store.openWriter("main", { ...CWD, create: false }), code("session_not_found"));
  assert.throws(() => store.delete("main"), code("session_not_found"));
  assert.deepEqual(readdirSync(home), []);
  const other = openStore(dir);
  const writer = other.openWriter("main", CWD);
  sayTurn(writer, "t1", "words");
  writer.close();
  other.close();
  assert.equal(store.find("main")?.entryCount, 3);
  assert.equal(store.search("words").length, 2);
  assert.ok(existsSync(join(dir, "sessions.db")));
});

test("a reader reports who is running a turn, and calls no turn interrupted meanwhile", (t) => {
  const { store, dir } = storeIn(t);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "one");
  writer.append({ type: "message", turnId: "t2", message: user("two") });
  const other = openStore(dir);
  t.after(() => other.close());
  const during = other.openReader("main");
  assert.equal(during.runningIn?.pid, process.pid);
  assert.ok(!Number.isNaN(Date.parse(during.runningIn?.since ?? "")));
  assert.deepEqual(during.interruptedTurns(), []);
  orphanLock(writer.record.file);
  const after = other.openReader("main");
  assert.equal(after.runningIn, undefined);
  assert.deepEqual(after.interruptedTurns(), ["t2"]);
  // It had seen a running turn.
  assert.deepEqual(during.interruptedTurns(), []);
  during.close();
  after.close();
  writer.close();
});

test("an invalid key is refused with the rule that it breaks", (t) => {
  const { store } = storeIn(t);
  for (const key of ["/abs", "..", "-x", "", "a b", "a\u0000", "x".repeat(201)])
    assert.throws(
      () => store.find(key),
      (error: Error) =>
        code("session_key_invalid")(error) &&
        /begins with a letter, a digit or one of _ \+ @ #, and has up to 200 letters/.test(error.message),
    );
  for (const key of ["_x", "+49", "@me", "#room", "agent:main/a.b=c~d-e", "x".repeat(200), "日本"])
    assert.equal(store.find(key), undefined);
});

test("halves of surrogate pairs, from a plugin or any other writer, are replaced in what is stored", (t) => {
  const { store } = storeIn(t);
  const writer = store.openWriter("agent:main:half", CWD);
  const call = { type: "toolCall" as const, id: "c1", name: "probe", arguments: { "k\ud83d": ["\ude00"] } };
  writer.append({ type: "message", message: { role: "user", content: "a \ud83d b 😀" } });
  writer.append({ type: "message", message: { role: "assistant", content: [call] } });
  writer.append({ type: "custom_message", customType: "hook", content: "\ude00 hook", display: false });
  const bytes = readFileSync(writer.record.file, "utf8");
  assert.doesNotMatch(bytes, /\\ud[89a-f]/i);
  assert.match(bytes, /a \ufffd b 😀/);
  assert.match(bytes, /"k\ufffd":\["\ufffd"\]/);
  assert.match(bytes, /\ufffd hook/);
});
