import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { renderSummary } from "../../../packages/contract/src/engine/summary.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import type { SessionReader, SessionWriter } from "../../../packages/contract/src/session/writer.ts";
import {
  assistant,
  collect,
  entriesOf,
  openStore,
  sayTurn,
  temporaryFolder,
  textOf,
  toolResult,
  user,
  withFullDisk,
} from "./fixtures.ts";
import { FULL } from "../../runner/short-form.ts";

const CWD = { cwd: "/project" };

/** A session with one turn for each text. */
function withTurns(t: TestContext, ...texts: string[]) {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  t.after(() => store.close());
  const writer = store.openWriter("main", CWD);
  t.after(() => writer.close());
  const ids = texts.flatMap((text) => sayTurn(writer, `turn-${text}`, text));
  return { dir, store, writer, ids, file: writer.record.file };
}

function contextTexts(view: SessionWriter | SessionReader): string[] {
  return view.contextMessages().messages.map(textOf);
}

/** The conversation as a reader sees it that knows only ids and parents. */
function walk(file: string): TranscriptEntry[] {
  const entries = new Map(entriesOf(file).map((entry) => [entry.id, entry]));
  const path: TranscriptEntry[] = [];
  for (let at = [...entries.values()].at(-1); at; at = entries.get(at.parentId ?? "")) path.unshift(at);
  return path;
}

test("a rewrite replaces messages on a branch of new entries and keeps every old text", async (t) => {
  const { store, writer, ids, file } = withTurns(t, "one", "two", "three");
  const [one = "", , , answer = ""] = ids;
  const before = readFileSync(file);
  const result = writer.rewrite([
    { entryId: answer, message: assistant("shorter") },
    { entryId: one, message: { ...user("ONE"), entryId: "ignored" } },
  ]);
  const freed = "answer to two".length - "shorter".length;
  assert.deepEqual(result, { changed: true, bytesFreed: freed, rewrittenEntries: 2 });
  const expected = ["ONE", "answer to one", "two", "shorter", "three", "answer to three"];
  assert.deepEqual(contextTexts(writer), expected);
  assert.deepEqual(readFileSync(file).subarray(0, before.length), before);

  const old = await writer.cursor.get(one);
  assert.ok(old?.type === "message" && textOf(old.message) === "one");
  const path = walk(file);
  assert.deepEqual(path, await collect(writer.cursor.forward()));
  assert.deepEqual(
    path.flatMap((entry) => (entry.type === "message" ? [textOf(entry.message)] : [])),
    expected,
  );
  assert.deepEqual(
    path.flatMap((entry) => (entry.type === "message" ? [entry.supersedes] : [])),
    ids,
  );
  const copy = path.find((entry) => entry.type === "message" && entry.supersedes === one);
  assert.ok(copy?.type === "message" && !("entryId" in copy.message));
  assert.equal(copy.timestamp, old.timestamp);

  const hits = (query: string): [string, boolean][] =>
    store.search(query).map((hit) => [hit.entryId, hit.onPath]);
  assert.deepEqual(hits("shorter"), [
    [path.find((entry) => entry.type === "message" && entry.supersedes === answer)?.id, true],
  ]);
  assert.deepEqual(hits("answer two"), [[answer, false]]);
  assert.equal(hits("answer to three").length, 1);
  assert.equal(hits("answer to three")[0]?.[1], true);

  writer.close();
  const again = store.openWriter("main", CWD);
  assert.deepEqual(again.notices, []);
  assert.deepEqual(contextTexts(again), expected);
  again.close();
});

test("an entry is rewritten again by its new id, and no longer by its old one", (t) => {
  const { writer, ids, file } = withTurns(t, "one", "two");
  const [, , two = ""] = ids;
  for (const text of ["two b", "two c", "two d"]) {
    const now = walk(file).findLast((entry) => entry.type === "message" && entry.message.role === "user");
    assert.ok(now);
    assert.equal(writer.rewrite([{ entryId: now.id, message: user(text) }]).changed, true);
    assert.deepEqual(contextTexts(writer), ["one", "answer to one", text, "answer to two"]);
  }
  const refused = writer.rewrite([{ entryId: two, message: user("e") }]);
  assert.match(refused.reason ?? "", /is not on the active path/);
});

test("a rewrite before the last compaction keeps its summary and its kept messages", (t) => {
  const { store, writer, ids } = withTurns(t, "one", "two");
  const [one = "", , two = ""] = ids;
  const live = writer.append({ type: "message", turnId: "live", message: user("the input") });
  writer.append({ type: "custom_message", customType: "note", content: "a note", turnId: "live" });
  const tail = writer.append({ type: "message", turnId: "live", message: assistant("the tail") });
  const compaction = { type: "compaction" as const, summary: "S", tokensBefore: 1, origin: "model" as const };
  writer.append({ ...compaction, firstKeptEntryId: tail.id, splitTurnInputId: live.id });
  writer.commitTurn({ turnId: "live", outcome: "completed" });
  const context = ["the input", renderSummary("S"), "the tail"];
  assert.deepEqual(contextTexts(writer), context);

  assert.equal(writer.rewrite([{ entryId: one, message: user("ONE") }]).changed, true);
  assert.deepEqual(contextTexts(writer), context);
  assert.equal(writer.rewrite([{ entryId: two, message: user("TWO") }]).changed, false);
  const input = writer.contextMessages().messages[0]?.entryId ?? "";
  assert.notEqual(input, live.id);
  assert.equal(writer.rewrite([{ entryId: input, message: user("THE INPUT") }]).changed, true);
  assert.deepEqual(contextTexts(writer), ["THE INPUT", renderSummary("S"), "the tail"]);
  // A compaction that was planned before the rewrite names entries that were copied since by their old ids.
  writer.append({ ...compaction, summary: "T", firstKeptEntryId: tail.id, splitTurnInputId: live.id });
  assert.deepEqual(contextTexts(writer), ["THE INPUT", renderSummary("T"), "the tail"]);
  writer.close();
  const reader = store.openReader("main");
  assert.deepEqual(contextTexts(reader), ["THE INPUT", renderSummary("T"), "the tail"]);
  reader.close();
});

test("turns stay committed, and those that no engine took are offered once with their new messages", (t) => {
  const { dir, store, writer } = withTurns(t, "first");
  writer.append({ type: "message", turnId: "due", message: user("due input") });
  const middle = writer.append({ type: "message", turnId: "due", message: assistant("due answer") });
  writer.commitTurn({ turnId: "due", outcome: "failed", code: "engine_failed", finalized: false });
  writer.append({ type: "message", turnId: "taken", message: user("taken input") });
  writer.commitTurn({ turnId: "taken", outcome: "completed", finalized: false });
  writer.markFinalized("taken");
  writer.rewrite([{ entryId: middle.id, message: assistant("DUE ANSWER") }]);

  const offered = (of: SessionWriter): unknown =>
    [...of.unfinalizedTurns()].map(({ turnId, messages }) => [turnId, ...messages.map(textOf)]);
  assert.deepEqual(offered(writer), [["due", "due input", "DUE ANSWER"]]);
  for (const turnId of ["turn-first", "due", "taken"])
    assert.equal(writer.commitTurn({ turnId, outcome: "completed" }), false);
  writer.close();
  for (const lost of [false, true]) {
    if (lost) for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `sessions.db${end}`), { force: true });
    const other = openStore(dir);
    const again = other.openWriter("main", CWD);
    assert.deepEqual(
      again.notices.map((notice) => notice.kind),
      lost ? ["index_rebuilt"] : [],
    );
    assert.deepEqual(offered(again), [["due", "due input", "DUE ANSWER"]]);
    again.close();
    other.close();
  }
  const last = store.openWriter("main", CWD);
  last.markFinalized("due");
  assert.deepEqual(offered(last), []);
  // Back to the old text: turns that the engine has taken stay taken.
  last.rewind(middle.id);
  assert.deepEqual(offered(last), []);
  last.close();
});

test("the running turn may continue after a rewrite of earlier messages, and ends once", (t) => {
  const { store, writer, ids } = withTurns(t, "one");
  writer.append({ type: "message", turnId: "live", message: user("now") });
  const call = writer.append({ type: "message", turnId: "live", message: assistant("calling", ["c1"]) });
  assert.equal(writer.rewrite([{ entryId: ids[0] ?? "", message: user("ONE") }]).changed, true);
  const refused = writer.rewrite([{ entryId: call.id, message: assistant("x", ["c1"]) }]);
  assert.match(refused.reason ?? "", /is not on the active path/);
  writer.append({ type: "message", turnId: "live", message: toolResult("c1", "result") });
  assert.equal(writer.commitTurn({ turnId: "live", outcome: "completed" }), true);
  writer.close();
  const again = store.openWriter("main", CWD);
  assert.deepEqual(again.notices, []);
  assert.deepEqual(contextTexts(again), ["ONE", "answer to one", "now", "calling<toolCall>", "result"]);
  again.close();
});

test("a refused rewrite changes nothing and returns the reason", (t) => {
  const { writer, ids, file } = withTurns(t, "one");
  const [one = "", answer = ""] = ids;
  const called = writer.append({ type: "message", turnId: "tools", message: assistant("a", ["c1", "c2"]) });
  const result = writer.append({ type: "message", turnId: "tools", message: toolResult("c1", "r") });
  writer.append({ type: "message", turnId: "tools", message: toolResult("c2", "r") });
  writer.commitTurn({ turnId: "tools", outcome: "completed" });
  const fragment = writer.append({ type: "custom_message", customType: "x", content: "note" });
  const replaced = writer.append({ type: "message", message: user("long") });
  const newer = writer.append({ type: "message", message: user("short"), supersedes: replaced.id });
  const live = writer.append({ type: "message", turnId: "live", message: user("live") });
  const size = readFileSync(file).length;
  const cyclic: { role: "user"; content: string; self?: unknown } = { role: "user", content: "x" };
  cyclic.self = cyclic;
  const odd = (message: unknown): AgentMessage => message as AgentMessage;
  const cases: [string, AgentMessage, RegExp][] = [
    ["nobody", user("x"), /has no entry nobody/],
    [fragment.id, user("x"), /is no message/],
    [one, assistant("x"), /has the role user, its replacement assistant/],
    [result.id, toolResult("c2", "x"), /changes the ids of its tool calls/],
    [called.id, assistant("x", ["c2", "c1"]), /changes the ids of its tool calls/],
    [called.id, assistant("x", ["c1"]), /changes the ids of its tool calls/],
    [answer, assistant("x", ["c9"]), /changes the ids of its tool calls/],
    [live.id, user("x"), /belongs to the turn live, which is not finished/],
    [replaced.id, user("x"), new RegExp(`the entry ${newer.id} replaces the entry`)],
    [one, cyclic, /is not JSON/],
    [one, odd({ role: "user", content: "x", at: new Date() }), /is not JSON/],
    [one, odd({ role: "user", content: "x", timestamp: Number.NaN }), /is not JSON/],
    [one, odd({ role: "user", content: "x", big: 1n }), /is not JSON/],
    [one, odd(undefined), /is not JSON/],
    [one, odd("text"), /has no known shape/],
    [one, odd({ role: "user", content: 5 }), /has no known shape/],
    [one, user("one"), /no message differs/],
  ];
  for (const [entryId, message, reason] of cases) {
    // A valid replacement is not applied together with a refused one.
    const fine = { entryId: answer, message: assistant("fine") };
    const all = entryId === answer || reason.source.includes("differs") ? [] : [fine];
    const refused = writer.rewrite([...all, { entryId, message }]);
    assert.match(refused.reason ?? "", reason);
    const { reason: _, ...rest } = refused;
    assert.deepEqual(rest, { changed: false, bytesFreed: 0, rewrittenEntries: 0 });
  }
  const twice = { entryId: one, message: user("x") };
  assert.match(writer.rewrite([twice, twice]).reason ?? "", /is replaced twice/);
  assert.match(writer.rewrite([]).reason ?? "", /there is no replacement/);
  writer.rewind(one);
  assert.match(
    writer.rewrite([{ entryId: answer, message: assistant("x") }]).reason ?? "",
    /is not on the active path/,
  );
  assert.equal(entriesOf(file).at(-1)?.type, "rewind");
  assert.equal(readFileSync(file).subarray(0, size).length, size);
  const grown = writer.rewrite([{ entryId: one, message: user("one and much more") }]);
  assert.deepEqual(grown, { changed: true, bytesFreed: 0, rewrittenEntries: 1 });
  assert.deepEqual(contextTexts(writer), ["one and much more"]);
});

test("a rewrite that would copy too much of the transcript is refused; one of newer entries is applied", (t) => {
  const many = withTurns(t, "old");
  for (let index = 0; index < 4_000; index += 1) many.writer.append({ type: "message", message: user("x") });
  const large = withTurns(t, "old");
  for (let index = 0; index < 5; index += 1)
    large.writer.append({ type: "message", message: user("x".repeat(1024 * 1024)) });
  const cases: [typeof many, RegExp][] = [
    [
      many,
      /has more than 4000 entries, and at most 4194304 bytes or 4000 entries are written again: replace newer/,
    ],
    [large, /has \d{7} bytes, and at most 4194304 bytes or 4000 entries are written again: replace newer/],
  ];
  for (const [{ writer, ids, file }, reason] of cases) {
    const newest = writer.append({ type: "message", message: user("newest") });
    const size = readFileSync(file).length;
    const requests = [
      { entryId: ids[0] ?? "", message: user("OLD") },
      { entryId: newest.id, message: user("NEWEST") },
    ];
    const { reason: found = "", ...refused } = writer.rewrite(requests);
    assert.match(found, reason);
    assert.deepEqual(refused, { changed: false, bytesFreed: 0, rewrittenEntries: 0 });
    assert.equal(readFileSync(file).length, size);
    assert.equal(writer.rewrite(requests.slice(1)).changed, true);
    assert.equal(contextTexts(writer).at(-1), "NEWEST");
  }
});

/** Each byte in the full form; the first and the last ones, and each eleventh between them, in the short one. */
function nextCut(size: number, first: number, last: number): number {
  if (FULL || size < first + 4 || size > last - 16) return 1;
  return Math.min(11, last - 15 - size);
}

test("a rewrite that was cut off anywhere leaves the old text, for readers and writers", (t) => {
  const { writer, ids, file } = withTurns(t, "one");
  const before = readFileSync(file).length;
  const old = contextTexts(writer);
  writer.rewrite([{ entryId: ids[1] ?? "", message: assistant("A") }]);
  const after = contextTexts(writer);
  writer.close();
  const bytes = readFileSync(file);
  const root = temporaryFolder(t);
  const name = file.slice(dirname(file).length + 1);
  for (let size = before; size <= bytes.length; size += nextCut(size, before, bytes.length)) {
    const agent = join(root, String(size));
    mkdirSync(join(agent, "sessions"), { recursive: true });
    const copy = join(agent, "sessions", name);
    writeFileSync(copy, bytes.subarray(0, size));
    const expected = size === bytes.length ? after : old;
    const store = openStore(agent);
    const reader = store.openReader("main");
    assert.deepEqual(contextTexts(reader), expected, `a reader at byte ${size}`);
    assert.deepEqual(
      reader.notices.map((notice) => notice.kind),
      size === before || size === bytes.length ? ["index_rebuilt"] : ["index_rebuilt", "torn_line"],
    );
    reader.close();
    const again = store.openWriter("main", CWD);
    assert.deepEqual(contextTexts(again), expected, `a writer at byte ${size}`);
    if (size % 5 === 0 || size === bytes.length) {
      sayTurn(again, "next", "go on");
      assert.deepEqual(contextTexts(again), [...expected, "go on", "answer to go on"]);
      // The file has nothing of the part: the next message follows the old ones.
      if (size < bytes.length) assert.deepEqual(walk(copy), entriesOf(copy));
    }
    again.close();
    store.close();
    rmSync(agent, { recursive: true, force: true });
  }
});

test("a part of a rewrite is reported, set aside once, and its text is still there", (t) => {
  const { dir, store, writer, ids, file } = withTurns(t, "one", "two");
  const before = readFileSync(file).length;
  writer.rewrite([{ entryId: ids[0] ?? "", message: user("ONE") }]);
  writer.close();
  store.close();
  // A power cut can lose a middle page, and keep the last line.
  for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `sessions.db${end}`), { force: true });
  const bytes = readFileSync(file);
  const size = bytes.length;
  bytes.fill(0, before + 400, before + 600);
  writeFileSync(file, bytes);
  const other = openStore(dir);
  const reader = other.openReader("main");
  assert.deepEqual(contextTexts(reader), ["one", "answer to one", "two", "answer to two"]);
  assert.match(reader.notices.at(-1)?.detail ?? "", /A rewrite at the end of the transcript \(\d+ bytes/);
  reader.close();
  const again = other.openWriter("main", CWD);
  assert.ok(again.notices.some(({ detail }) => detail.includes("was moved to")));
  assert.equal(readFileSync(file).length, before);
  assert.equal(readFileSync(file.replace(/jsonl$/, "jsonl.torn")).length, size - before);
  assert.equal(again.rewrite([{ entryId: ids[0] ?? "", message: user("ONE") }]).changed, true);
  again.close();
  // A finished rewrite stays finished when one of its lines is damaged later.
  const more = other.openWriter("main", CWD);
  sayTurn(more, "later", "later");
  more.close();
  const damaged = readFileSync(file);
  damaged.fill(0x20, before + 400, before + 410);
  writeFileSync(file, damaged);
  const damagedReader = other.openReader("main");
  assert.ok(contextTexts(damagedReader).includes("later"));
  damagedReader.close();
  other.close();
});

test("a rewrite on a full disk leaves the old text, and works once there is space", (t) => {
  const { store, writer, ids, file } = withTurns(t, "one", "two");
  const old = contextTexts(writer);
  const bytes = readFileSync(file);
  const requests = [{ entryId: ids[0] ?? "", message: user("ONE") }];
  for (const at of ["writeSync", "fsyncSync"] as const) {
    withFullDisk(() => {
      assert.throws(() => writer.rewrite(requests), { code: "store_write_failed" });
    }, at);
    assert.deepEqual(readFileSync(file), bytes);
    assert.deepEqual(contextTexts(writer), old);
    assert.deepEqual(writer.place(ids[0] ?? ""), { rawSeq: 1, messagePosition: 0 });
  }
  assert.equal(writer.rewrite(requests).changed, true);
  assert.deepEqual(contextTexts(writer), ["ONE", ...old.slice(1)]);
  writer.close();
  const again = store.openWriter("main", CWD);
  assert.deepEqual(contextTexts(again), ["ONE", ...old.slice(1)]);
  again.close();
});

test("a rewrite of a transcript that another program changed is refused", (t) => {
  const { store, writer, ids, file } = withTurns(t, "one");
  const old = contextTexts(writer);
  const size = readFileSync(file).length;
  truncateSync(file, size - 1);
  assert.throws(() => writer.rewrite([{ entryId: ids[0] ?? "", message: user("ONE") }]), {
    code: "lock_lost",
  });
  assert.deepEqual(contextTexts(writer), old);
  assert.equal(readFileSync(file).length, size - 1);
  writer.close();
  assert.throws(() => writer.rewrite([]), { code: "store_write_failed" });
  const again = store.openWriter("main", CWD);
  assert.deepEqual(contextTexts(again), old);
  again.close();
});

test("an exported rewrite is imported unchanged, and a fork of its middle is whole", async (t) => {
  const { dir, store, writer, ids, file } = withTurns(t, "one", "two", "three");
  writer.rewrite([{ entryId: ids[2] ?? "", message: user("TWO") }]);
  const path = walk(file);
  const expected = contextTexts(writer);
  writer.close();
  const exported = join(dir, "out.jsonl");
  writeFileSync(exported, Buffer.concat(await collect(store.export("main", "jsonl"))));
  const other = openStore(join(dir, "other"));
  await other.import(exported, { sessionKey: "copy" });
  const reader = other.openReader("copy");
  assert.deepEqual(contextTexts(reader), expected);
  assert.deepEqual(await collect(reader.cursor.forward()), path);
  reader.close();

  const middle = path.find((entry) => entry.type === "message" && textOf(entry.message) === "TWO");
  const fork = await store.fork("main", "fork", { entryId: middle?.id ?? "" });
  const forked = store.openWriter("fork", CWD);
  assert.deepEqual(contextTexts(forked), ["one", "answer to one", "TWO"]);
  assert.equal(fork.generation, 1);
  forked.close();

  // A copy that ends in the middle of the branch is no session.
  const whole = readFileSync(exported);
  const cut = whole.lastIndexOf("\n", whole.length - 2) + 1;
  writeFileSync(exported, whole.subarray(0, cut));
  const third = openStore(join(dir, "third"));
  await assert.rejects(third.import(exported), {
    code: "import_invalid",
    message: /rewrite whose end is missing/,
  });
  third.close();
  other.close();
});
