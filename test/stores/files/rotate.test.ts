import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import type { NewEntry, TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import type { SessionReader, SessionWriter } from "../../../packages/contract/src/session/writer.ts";
import {
  assistant,
  collect,
  entriesOf,
  filesWith,
  openStore,
  orphanLock,
  sayTurn,
  temporaryFolder,
  textOf,
  toolResult,
  user,
  withFullDisk,
} from "./fixtures.ts";

const CWD = { cwd: "/project" };
const ENGINE_ID = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

function start(t: TestContext) {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  t.after(() => store.close());
  const writer = store.openWriter("main", CWD);
  t.after(() => writer.close());
  sayTurn(writer, "t1", "one");
  return { dir, store, writer };
}

function contextTexts(view: SessionWriter | SessionReader): string[] {
  return view.contextMessages().messages.map(textOf);
}

/** A transcript as an engine writes it: with its own ids, or entries that it copied. */
function engineFile(file: string, id: string, entries: readonly (TranscriptEntry | string)[]): string {
  let parentId: string | null = null;
  const timestamp = "2026-01-02T03:04:05.000Z";
  const lines: object[] = [{ type: "session", version: 3, id, timestamp, cwd: "/engine" }];
  for (const [at, given] of entries.entries()) {
    const entry: TranscriptEntry =
      typeof given === "string"
        ? { type: "message", id: `engine-${at}`, parentId, timestamp, message: user(given) }
        : { ...given, parentId };
    lines.push(entry);
    parentId = entry.id;
  }
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

/** An entry in the form in which it is written again. */
function again({
  id: _id,
  parentId: _parent,
  timestamp: _time,
  epoch: _epoch,
  ...rest
}: TranscriptEntry): NewEntry {
  return rest as NewEntry;
}

function generations(store: ReturnType<typeof openStore>): [string, number, boolean][] {
  return store
    .list()
    .toSorted((a, b) => a.generation - b.generation)
    .map((record) => [record.sessionId, record.generation, record.current]);
}

test("a successor's file becomes the current generation, with the live turn at its end", async (t) => {
  const { dir, store, writer } = start(t);
  const old = writer.record;
  const live = [
    writer.append({ type: "message", turnId: "live", message: user("now") }),
    writer.append({ type: "message", turnId: "live", message: assistant("calling", ["c1"]) }),
  ];
  const file = engineFile(join(dir, "engine.jsonl"), ENGINE_ID, ["what was before"]);
  const next = store.rotate(writer, { sessionId: ENGINE_ID, file }, live.map(again));
  const record = next.record;
  assert.equal(record.sessionId, ENGINE_ID);
  assert.equal(record.sessionKey, "main");
  assert.equal(record.file, join(dirname(old.file), `${ENGINE_ID}.jsonl`));
  assert.equal(record.cwd, "/engine");
  assert.equal(record.createdAt, "2026-01-02T03:04:05.000Z");
  assert.deepEqual([record.generation, record.current, record.entryCount], [2, true, 3]);
  assert.deepEqual(contextTexts(next), ["what was before", "now", "calling<toolCall>"]);
  assert.deepEqual(next.notices, []);
  const carried = entriesOf(record.file).slice(1);
  assert.ok(carried.every(({ epoch }) => (epoch ?? 0) > (live[0]?.epoch ?? 0)));
  assert.deepEqual(generations(store), [
    [old.sessionId, 1, false],
    [ENGINE_ID, 2, true],
  ]);

  // The turn continues in the new session, and is not interrupted in the old one.
  next.append({ type: "message", turnId: "live", message: toolResult("c1", "result") });
  assert.equal(next.commitTurn({ turnId: "live", outcome: "completed" }), true);
  assert.throws(() => writer.append({ type: "message", message: user("x") }), { code: "store_write_failed" });
  const earlier = store.openReader("main", old.sessionId);
  assert.deepEqual(contextTexts(earlier), ["one", "answer to one", "now", "calling<toolCall>"]);
  assert.deepEqual(earlier.interruptedTurns(), []);
  assert.deepEqual([earlier.record.current, earlier.record.generation], [false, 1]);
  const [marker] = await collect(earlier.cursor.backward());
  assert.ok(marker?.type === "turn_commit");
  assert.deepEqual([marker.outcome, marker.code, marker.finalized], ["interrupted", "rotated", undefined]);
  earlier.close();
  next.close();

  for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `sessions.db${end}`), { force: true });
  const other = openStore(dir);
  const reopened = other.openWriter("main", CWD);
  assert.equal(reopened.record.sessionId, ENGINE_ID);
  assert.deepEqual(
    reopened.notices.map((notice) => notice.kind),
    ["index_rebuilt"],
  );
  assert.deepEqual(contextTexts(reopened), ["what was before", "now", "calling<toolCall>", "result"]);
  const [after = ""] = sayTurn(reopened, "t9", "later");
  assert.match(after, /^[0-9a-z]{16}$/);
  reopened.close();
  assert.equal(other.renew("main", CWD).generation, 3);
  assert.equal(other.find("main")?.generation, 3);
  other.close();
});

test("turns that the engine took over keep their state, whatever lines it left out", (t) => {
  const { dir, store, writer } = start(t);
  for (const turnId of ["due", "taken", "plain"]) {
    writer.append({ type: "message", turnId, message: user(turnId) });
    const finalized = turnId === "plain" ? {} : { finalized: false };
    writer.commitTurn({ turnId, outcome: "completed", ...finalized });
  }
  writer.markFinalized("taken");
  const lines = entriesOf(writer.record.file);
  const kept = lines.filter(
    (entry) => entry.type === "message" || (entry.type === "turn_commit" && entry.turnId === "taken"),
  );
  const foreign: TranscriptEntry = {
    type: "message",
    id: "zzzzzzzzzzzzzzzz",
    parentId: null,
    timestamp: "2026-01-01T00:00:00.000Z",
    turnId: "made up",
    message: user("made up"),
  };
  const file = engineFile(join(dir, "e.jsonl"), "successor.1", [...kept, foreign]);
  const next = store.rotate(writer, { sessionId: "successor.1", file }, []);
  assert.deepEqual(
    [...next.unfinalizedTurns()].map(({ turnId, messages }) => [turnId, ...messages.map(textOf)]),
    [["due", "due"]],
  );
  const [own = ""] = sayTurn(next, "t2", "two");
  assert.ok(own < "zzzz", "an engine's id does not move ours into the far future");
  next.close();
  const reopened = store.openWriter("main", CWD);
  assert.deepEqual(reopened.notices, []);
  for (const turnId of ["t1", "due", "taken", "plain"])
    assert.equal(reopened.commitTurn({ turnId, outcome: "completed" }), false);
  reopened.close();
});

test("the key goes back to an earlier generation by its id, also within one turn", (t) => {
  const { dir, store, writer } = start(t);
  const first = writer.record.sessionId;
  const input = writer.append({ type: "message", turnId: "live", message: user("now") });
  const file = engineFile(join(dir, "e.jsonl"), "second", ["short"]);
  const second = store.rotate(writer, { sessionId: "second", file }, [again(input)]);
  const answer = second.append({ type: "message", turnId: "live", message: assistant("a") });
  const back = store.rotate(second, { sessionId: first }, [again(answer)]);
  assert.deepEqual(back.notices, []);
  assert.deepEqual(contextTexts(back), ["one", "answer to one", "now", "a"]);
  assert.deepEqual(generations(store), [
    [first, 1, true],
    ["second", 2, false],
  ]);
  assert.equal(back.commitTurn({ turnId: "live", outcome: "completed" }), true);
  assert.equal(back.commitTurn({ turnId: "live", outcome: "completed" }), false);
  back.close();
  for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `sessions.db${end}`), { force: true });
  const other = openStore(dir);
  assert.deepEqual(generations(other), [
    [first, 1, true],
    ["second", 2, false],
  ]);
  const reader = other.openReader("main");
  assert.deepEqual(contextTexts(reader), ["one", "answer to one", "now", "a"]);
  assert.deepEqual(reader.interruptedTurns(), []);
  reader.close();
  const third = other.renew("main", CWD);
  assert.deepEqual([third.generation, third.current], [3, true]);
  other.close();
});

test("a refused successor leaves the key, its writer and the folder unchanged", (t) => {
  const { dir, store, writer } = start(t);
  store.create("other", { cwd: "/w", sessionId: "theirs" });
  const file = (id: string, entries: (TranscriptEntry | string)[] = ["x"]): string =>
    engineFile(join(dir, `engine-${id}.jsonl`), id, entries);
  const bad = join(dir, "bad.jsonl");
  const good = readFileSync(file("good"), "utf8");
  const cases: [string, string | undefined, string, string?][] = [
    ["missing", undefined, "import_invalid"],
    ["theirs", undefined, "import_invalid"],
    ["theirs", file("theirs"), "session_exists"],
    [writer.record.sessionId, file("x"), "import_invalid"],
    ["new", writer.record.file, "import_invalid"],
    ["new", join(dir, "nothing.jsonl"), "import_invalid"],
    ["new", dir, "import_invalid"],
    ...["", ".hidden", "a/b", "..", "a\\b", "a.lock", "a.receipts", "a.jsonl", "a b", "a".repeat(129)].map(
      (id): [string, string, string] => [id, join(dir, "engine-good.jsonl"), "import_invalid"],
    ),
    ["bad", bad, "import_invalid", ""],
    ["bad", bad, "import_invalid", good.replace('"session"', '"other"')],
    ["bad", bad, "import_invalid", good.replace('"version":3', '"version":9')],
    ["bad", bad, "import_invalid", `${good}garbage\n`],
    ["bad", bad, "import_invalid", good + good.split("\n")[1] + "\n"],
    ["bad", bad, "import_invalid", good.replace('"parentId":null', '"parentId":"nobody"')],
    ["bad", bad, "import_invalid", good.slice(0, -20)],
    ["bad", bad, "import_invalid", good.slice(0, 20)],
  ];
  const names = readdirSync(dirname(writer.record.file)).toSorted();
  for (const [sessionId, path, code, content] of cases) {
    if (content !== undefined) writeFileSync(bad, content);
    const successor = { sessionId, ...(path === undefined ? {} : { file: path }) };
    assert.throws(() => store.rotate(writer, successor, []), { code }, `${sessionId} ${content}`);
    assert.deepEqual(readdirSync(dirname(writer.record.file)).toSorted(), names);
  }
  writer.append({ type: "message", message: user("goes on") });
  assert.deepEqual(contextTexts(writer), ["one", "answer to one", "goes on"]);
  assert.equal(store.find("main")?.sessionId, writer.record.sessionId);

  store.renew("main", CWD);
  assert.throws(() => store.rotate(writer, { sessionId: "late", file: file("late") }, []), {
    code: "lock_lost",
  });
  writer.close();
  assert.throws(() => store.rotate(writer, { sessionId: "late", file: file("late") }, []), {
    code: "store_write_failed",
  });
});

test("a rotation on a full disk leaves the key at its session, and works once there is space", (t) => {
  const { dir, store, writer } = start(t);
  const first = writer.record.sessionId;
  const file = engineFile(join(dir, "e.jsonl"), "engine", ["x".repeat(10_000)]);
  const live = writer.append({ type: "message", turnId: "live", message: user("now") });
  const folder = dirname(writer.record.file);
  const names = readdirSync(folder).toSorted();
  const fails = (from: SessionWriter, successor: { sessionId: string; file?: string }): void => {
    const before = generations(store);
    for (const at of ["writeSync", "fsyncSync", "linkSync"] as const) {
      const bytes = readFileSync(from.record.file);
      withFullDisk(() => {
        assert.throws(() => store.rotate(from, successor, [again(live)]), { code: "store_write_failed" });
      }, at);
      assert.deepEqual(generations(store), before);
      assert.deepEqual(readFileSync(from.record.file), bytes);
    }
  };
  fails(writer, { sessionId: "engine", file });
  assert.deepEqual(readdirSync(folder).toSorted(), names);
  writer.append({ type: "session_info", name: "the name" });
  const second = store.rotate(writer, { sessionId: "engine", file }, [again(live)]);
  assert.equal(second.record.name, "the name");
  fails(second, { sessionId: first });
  const third = store.rotate(second, { sessionId: first }, []);
  assert.equal(third.record.sessionId, first);
  assert.deepEqual(contextTexts(third), ["one", "answer to one", "now"]);
  third.close();
});

test("an engine may leave out the last newline, and may write at the session's own path", (t) => {
  const { dir, store, writer } = start(t);
  const folder = dirname(writer.record.file);
  const file = engineFile(join(folder, "beside.jsonl"), "beside", ["one", "two"]);
  const header = readFileSync(writer.record.file, "utf8").split("\n")[0] ?? "";
  // With our header and another id it would be a generation of the key, if it counted as a session.
  const copied = header.replace(writer.record.sessionId, "beside");
  const [, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
  writeFileSync(file, [copied, ...lines].join("\n"));
  assert.deepEqual(store.list().length, 1);
  const next = store.rotate(writer, { sessionId: "beside", file }, []);
  assert.deepEqual(contextTexts(next), ["one", "two"]);
  assert.equal(next.record.file, file);
  sayTurn(next, "t2", "three");
  next.close();
  const other = openStore(dir);
  const reader = other.openReader("main");
  assert.deepEqual(contextTexts(reader), ["one", "two", "three", "answer to three"]);
  reader.close();
  other.close();
});

test("deletion takes every generation and leaves sessions whose ids begin alike", (t) => {
  const { dir, store, writer } = start(t);
  store.create("other", { cwd: "/w", sessionId: "engine.2" });
  const kept = store.openWriter("other", CWD);
  sayTurn(kept, "t", "kept words");
  kept.close();
  const file = engineFile(join(dir, "e.jsonl"), "engine", ["sapphire"]);
  const next = store.rotate(writer, { sessionId: "engine", file }, []);
  rmSync(file);
  next.close();
  assert.equal(filesWith(dir, "sapphire").length > 0, true);
  assert.equal(store.delete("main").sessions, 2);
  assert.deepEqual(filesWith(dir, "sapphire"), []);
  assert.deepEqual(
    store.list().map((record) => record.sessionKey),
    ["other"],
  );
  const reader = store.openReader("other");
  assert.deepEqual(contextTexts(reader), ["kept words", "answer to kept words"]);
  reader.close();
});

test("a rotated session is exported, imported and forked as any other", async (t) => {
  const { dir, store, writer } = start(t);
  const file = engineFile(join(dir, "e.jsonl"), ENGINE_ID, ["engine words"]);
  const next = store.rotate(writer, { sessionId: ENGINE_ID, file }, []);
  next.rewrite([{ entryId: "engine-0", message: user("engine WORDS") }]);
  next.close();
  const exported = join(dir, "out.jsonl");
  writeFileSync(exported, Buffer.concat(await collect(store.export("main", "jsonl"))));
  const other = openStore(join(dir, "other"));
  const record = await other.import(exported);
  assert.deepEqual(
    [record.sessionId, record.sessionKey, record.generation, record.current],
    [ENGINE_ID, "main", 1, true],
  );
  const reader = other.openReader("main");
  assert.deepEqual(contextTexts(reader), ["engine WORDS"]);
  reader.close();
  assert.equal(other.renew("main", CWD).generation, 2);
  other.close();
  const fork = await store.fork("main", "fork", { sessionId: store.reserveId() });
  assert.equal(fork.generation, 1);
  const forked = store.openReader("fork");
  assert.deepEqual(contextTexts(forked), ["engine WORDS"]);
  forked.close();
});

test("a writer that died in a rotation leaves a lock, and the next one finds the current generation", (t) => {
  const { dir, store, writer } = start(t);
  const old = writer.record;
  const file = engineFile(join(dir, "e.jsonl"), "after", ["engine words"]);
  const second = openStore(dir);
  assert.equal(second.find("main")?.sessionId, old.sessionId);
  const next = store.rotate(writer, { sessionId: "after", file }, []);
  const { file: newFile } = next.record;
  next.close();
  // As if the index had missed it: only the file has the information.
  for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `sessions.db${end}`), { force: true });
  const stale = readFileSync(newFile);
  rmSync(newFile);
  const third = openStore(dir);
  assert.equal(third.find("main")?.sessionId, old.sessionId);
  writeFileSync(newFile, stale);
  orphanLock(old.file);
  const found = third.openWriter("main", CWD);
  assert.equal(found.record.sessionId, "after");
  found.close();
  second.close();
  third.close();
  assert.equal(existsSync(newFile), true);
});

test("reserved ids are used once, are newer than all, and name what is created and forked", async (t) => {
  const { store, writer } = start(t);
  const ids = [store.reserveId(), store.reserveId(), store.reserveId()];
  assert.deepEqual(ids.toSorted(), ids);
  assert.ok(ids.every((id) => id > writer.record.sessionId));
  const [first = "", second = ""] = ids;
  const created = store.create("child", { cwd: "/w", sessionId: first });
  assert.deepEqual([created.sessionId, created.generation, created.current], [first, 1, true]);
  assert.equal(store.create("third", { cwd: "/w" }).sessionKey, "third");
  assert.throws(() => store.create("child", { cwd: "/w" }), { code: "session_exists" });
  assert.throws(() => store.create("more", { cwd: "/w", sessionId: first }), { code: "session_exists" });
  assert.throws(() => store.create("more", { cwd: "/w", sessionId: "a/b" }), { code: "usage_invalid" });
  assert.equal(store.find("more"), undefined);
  assert.equal((await store.fork("main", "copy", { sessionId: second })).sessionId, second);
  await assert.rejects(store.fork("main", "copy2", { sessionId: second }), { code: "session_exists" });
  assert.ok(store.renew("child", { cwd: "/w" }).sessionId > first);
});
