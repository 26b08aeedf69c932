import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import {
  assistant,
  collect,
  entriesOf,
  filesWith,
  openStore,
  sayTurn,
  temporaryFolder,
  toolResult,
  user,
} from "./fixtures.ts";

const CWD = { cwd: "/project" };

async function exported(
  store: SessionStore,
  key: string,
  format: "jsonl" | "markdown" = "jsonl",
): Promise<Buffer> {
  return Buffer.concat(await collect(store.export(key, format)));
}

function fill(store: SessionStore, key: string): void {
  const writer = store.openWriter(key, CWD);
  const [first = ""] = sayTurn(writer, "t1", "one \u2028 \ud83d\ude00 ");
  sayTurn(writer, "t2", "two");
  writer.rewind(first);
  writer.append({ type: "message", turnId: "t3", message: assistant("calls", ["c1"]) });
  writer.append({ type: "message", turnId: "t3", message: toolResult("c1", "```\ninner\n```") });
  writer.commitTurn({ turnId: "t3", outcome: "aborted" });
  writer.close();
}

test("an export that is deleted and imported gives the same bytes, under another key too", async (t) => {
  const dir = temporaryFolder(t);
  let store = openStore(dir);
  fill(store, "main");
  const bytes = await exported(store, "main");
  const file = join(dir, "export.jsonl");
  writeFileSync(file, bytes);
  const before = store.find("main");
  store.delete("main");
  assert.deepEqual(await store.import(file), before);
  assert.deepEqual(await exported(store, "main"), bytes);
  const here =
    /is here already under the key main; use `pagurus sessions fork main NEW` for a copy, or delete it/;
  await assert.rejects(store.import(file), { code: "session_exists", message: here });
  await assert.rejects(store.import(file, { sessionKey: "other" }), {
    code: "session_exists",
    message: here,
  });
  store.renew("main", CWD);
  await assert.rejects(store.import(file, { sessionKey: "other" }), {
    code: "session_exists",
    message: /is here already as an earlier conversation of the key main; delete that key first/,
  });
  assert.deepEqual(filesWith(dir, "other"), []);
  store.delete("main");
  assert.equal((await store.import(file, { sessionKey: "other" })).sessionKey, "other");
  store.close();
  rmSync(join(dir, "sessions.db"));
  store = openStore(dir);
  assert.equal(store.find("main"), undefined);
  assert.deepEqual(await exported(store, "other"), bytes);
  const writer = store.openWriter("other", CWD);
  assert.equal(writer.contextMessages().messages.length, 3);
  writer.close();
  store.delete("other");
  assert.deepEqual(store.list(), []);
  store.close();
});

test("an import with a bad line is refused with its number and leaves nothing", async (t) => {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  fill(store, "main");
  const lines = (await exported(store, "main")).toString("utf8").trimEnd().split("\n");
  store.delete("main");
  const file = join(dir, "bad.jsonl");
  const attempt = async (changed: string[], line: number, end = "\n"): Promise<void> => {
    writeFileSync(file, changed.join("\n") + end);
    await assert.rejects(store.import(file), (error: Error & { code?: string }) => {
      assert.equal(error.code, "import_invalid");
      assert.match(error.message, new RegExp(`^Line ${line} of `));
      return true;
    });
    assert.deepEqual(store.list(), []);
  };
  await attempt(lines.slice(1), 1);
  await attempt([], 1, "");
  await attempt(lines.with(3, "{broken"), 4);
  await attempt([...lines, lines[2] ?? ""], lines.length + 1);
  await attempt(lines.toSpliced(2, 1), 3);
  await attempt(lines, lines.length, "");
  await attempt(lines.with(1, (lines[1] ?? "").replace('"role":"user"', '"role":"system"')), 2);
  await assert.rejects(store.import(join(dir, "none.jsonl")), { code: "store_read_failed" });
  store.close();
});

test("the Markdown export shows messages and tool calls", async (t) => {
  const store = openStore(temporaryFolder(t));
  fill(store, "main");
  const text = (await exported(store, "main", "markdown")).toString("utf8");
  for (const part of [
    "# main",
    "## User",
    "**Tool call shell**",
    "**Result of shell**",
    "````\n```\ninner",
    "The turn ended: aborted",
  ])
    assert.ok(text.includes(part), part);
  assert.ok(!text.includes("two"));
  store.close();
});

test("a fork has the path's lines byte for byte and is independent afterwards", async (t) => {
  const store = openStore(temporaryFolder(t));
  fill(store, "main");
  const source = store.find("main");
  assert.ok(source);
  const entries = entriesOf(source.file);
  const forked = await store.fork("main", "copy");
  const lines = readFileSync(source.file, "utf8").split("\n");
  const copied = readFileSync(forked.file, "utf8").trimEnd().split("\n").slice(1);
  assert.ok(copied.every((line) => lines.includes(line)));
  assert.deepEqual(
    entriesOf(forked.file).map((entry) => entry.type),
    ["message", "message", "message", "turn_commit"],
  );
  const header = JSON.parse(readFileSync(forked.file, "utf8").split("\n")[0] ?? "") as {
    parentSession?: unknown;
  };
  assert.deepEqual(header.parentSession, { sessionId: source.sessionId, entryId: entries.at(-1)?.id });
  const writer = store.openWriter("copy", CWD);
  sayTurn(writer, "t9", "only here");
  assert.equal(writer.contextMessages().messages.length, 5);
  writer.close();
  assert.equal(store.find("main")?.entryCount, source.entryCount);
  await assert.rejects(store.fork("main", "copy"), { code: "session_exists" });
  await assert.rejects(store.fork("main", "third", { entryId: "0000000000000000" }), {
    code: "entry_not_found",
  });
  assert.equal(store.find("third"), undefined);
  const early = await store.fork("main", "early", { entryId: entries[1]?.id ?? "" });
  assert.equal(early.entryCount, 2);
  store.close();
});

test("a renewed key starts empty and its former generation stays readable by id", (t) => {
  const store = openStore(temporaryFolder(t));
  fill(store, "main");
  const old = store.find("main");
  const renewed = store.renew("main", CWD);
  assert.notEqual(renewed.sessionId, old?.sessionId);
  assert.equal(renewed.entryCount, 0);
  assert.deepEqual(
    store
      .list()
      .map((record) => `${record.sessionId} ${record.current}`)
      .toSorted(),
    [`${old?.sessionId} false`, `${renewed.sessionId} true`],
  );
  const reader = store.openReader("main", old?.sessionId);
  assert.equal(reader.contextMessages().messages.length, 3);
  reader.close();
  assert.throws(() => store.openReader("main", "0000000000000000"), { code: "session_not_found" });
  store.close();
});

test("search finds words of any script, marks hits off the path, and accepts any text as words", (t) => {
  const store = openStore(temporaryFolder(t));
  const writer = store.openWriter("main", CWD);
  const [first = ""] = sayTurn(writer, "t1", "the naïve Badger crossed foo-bar/baz.ts");
  writer.append({ type: "message", turnId: "t2", message: user("请把数据库密码放在保险箱里") });
  writer.append({ type: "message", turnId: "t2", message: assistant("fine", ["c"]) });
  writer.append({ type: "message", turnId: "t2", message: toolResult("c", "exit code 0 wolverine") });
  writer.commitTurn({ turnId: "t2", outcome: "completed" });
  const rewritten = writer.append({
    type: "message",
    turnId: "t3",
    message: user("the otter"),
    supersedes: first,
  });
  writer.commitTurn({ turnId: "t3", outcome: "completed" });
  writer.close();
  const found = (query: string): string[] => store.search(query).map((hit) => hit.role);
  assert.deepEqual(found("NAIVE badger"), ["user", "assistant"]);
  assert.deepEqual(found("foo-bar/baz.ts"), ["user", "assistant"]);
  assert.deepEqual(found("密码"), ["user"]);
  assert.deepEqual(found("数据库密码"), ["user"]);
  assert.deepEqual(found("里"), ["user"]);
  assert.deepEqual(found("码密"), []);
  assert.deepEqual(found("wolverine unicorn"), ["toolResult"]);
  for (const query of [
    '"',
    "AND",
    "a OR",
    "x*",
    "(",
    "t:x",
    "NEAR(a b)",
    "-",
    "'; DROP TABLE words",
    "\0",
    "^x",
    "{t}",
  ])
    assert.ok(Array.isArray(store.search(query)), query);
  const hits = store.search("badger");
  assert.deepEqual(
    new Map(hits.map((hit) => [hit.entryId === first, hit.onPath])),
    new Map([
      [false, true],
      [true, false],
    ]),
  );
  assert.match(hits[0]?.snippet ?? "", /Badger/);
  assert.deepEqual(
    store.search("otter").map((hit) => [hit.entryId, hit.onPath]),
    [[rewritten.id, true]],
  );
  assert.deepEqual(store.search("badger", { sessionKey: "none" }), []);
  assert.equal(store.search("badger", { sessionKey: "main", limit: 1 }).length, 1);
  const again = store.openWriter("main", CWD);
  again.rewind(null);
  again.close();
  assert.equal(store.search("wolverine")[0]?.onPath, false);
  store.close();
});
