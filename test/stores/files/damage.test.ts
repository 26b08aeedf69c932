import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { OpenNotice } from "../../../packages/contract/src/session/writer.ts";
import { openStore, sayTurn, temporaryFolder, textOf, withoutSums } from "./fixtures.ts";

const CWD = { cwd: "/project" };

interface Session {
  dir: string;
  file: string;
  sessionId: string;
}

/** A session under the key `main` with one turn, and no store open. */
function oneTurn(t: TestContext): Session {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "one");
  writer.close();
  store.close();
  return { dir, file: writer.record.file, sessionId: writer.record.sessionId };
}

function withStore<T>(dir: string, work: (store: SessionStore) => T): T {
  const store = openStore(dir);
  try {
    return work(store);
  } finally {
    store.close();
  }
}

/** Opens and closes a writer; its notices and the texts of its context. */
function visit(dir: string, key = "main"): { notices: readonly OpenNotice[]; texts: string[] } {
  return withStore(dir, (store) => {
    const writer = store.openWriter(key, { ...CWD, create: false });
    const texts = writer.contextMessages().messages.map(textOf);
    writer.close();
    return { notices: writer.notices, texts };
  });
}

function kinds(notices: readonly OpenNotice[]): string[] {
  return notices.map(({ kind }) => kind).toSorted();
}

test("a transcript without its header is reported once to a writer and keeps its key, also without the index", (t) => {
  const { dir, file } = oneTurn(t);
  const [, ...rest] = readFileSync(file, "utf8").split("\n");
  writeFileSync(file, rest.join("\n"));
  // Another command detects it first, and a reader does not consume the notice.
  withStore(dir, (store) => {
    assert.deepEqual(
      store.list().map((record) => [record.sessionKey, record.cwd]),
      [["main", "/project"]],
    );
  });
  withStore(dir, (store) => {
    const reader = store.openReader("main");
    assert.deepEqual(kinds(reader.notices), ["header_lost", "index_rebuilt"]);
    reader.close();
  });
  const { notices, texts } = visit(dir);
  assert.deepEqual(kinds(notices), ["header_lost", "index_rebuilt"]);
  const lost = notices.find(({ kind }) => kind === "header_lost")?.detail ?? "";
  assert.match(lost, /header .* missing or cannot be read; the session continues under the key main,/);
  assert.deepEqual(texts, ["one", "answer to one"]);
  assert.deepEqual(visit(dir).notices, []);
  rmSync(join(dir, "sessions.db"));
  const rebuilt = visit(dir);
  assert.deepEqual(kinds(rebuilt.notices), ["header_lost", "index_rebuilt"]);
  assert.deepEqual(rebuilt.texts, texts);
  withStore(dir, (store) =>
    assert.deepEqual(
      store.list().map((record) => record.sessionKey),
      ["main"],
    ),
  );
});

test("an invalid header is reported as such and as an unreadable line", (t) => {
  const { dir, file } = oneTurn(t);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, `?${text.slice(1)}`);
  const { notices, texts } = visit(dir);
  assert.deepEqual(kinds(notices), ["header_lost", "index_rebuilt", "quarantined_line"]);
  assert.equal(texts.length, 2);
  assert.deepEqual(visit(dir).notices, []);
  // Restored to its place, it is the header again.
  writeFileSync(file, text);
  assert.deepEqual(kinds(visit(dir).notices), ["index_rebuilt"]);
  assert.deepEqual(visit(dir).notices, []);
});

test("a transcript whose key is lost stays reachable under a key of its own", (t) => {
  const { dir, file, sessionId } = oneTurn(t);
  rmSync(join(dir, "sessions.db"));
  writeFileSync(file, readFileSync(file, "utf8").replace(/^.*\n/, ""));
  const key = `recovered:${sessionId}`;
  withStore(dir, (store) =>
    assert.deepEqual(
      store.list().map((record) => record.sessionKey),
      [key],
    ),
  );
  const { notices, texts } = visit(dir, key);
  assert.ok(kinds(notices).includes("header_lost"));
  assert.equal(texts.length, 2);
  assert.equal(existsSync(file.replace(/\.jsonl$/, ".key")), false);
});

test("entries that are gone from a transcript are counted at the next opening, whoever detected it first", (t) => {
  const { dir, file } = oneTurn(t);
  truncateSync(file, 0);
  withStore(dir, (store) => assert.equal(store.list()[0]?.entryCount, 0));
  const { notices, texts } = visit(dir);
  assert.deepEqual(kinds(notices), ["header_lost", "index_rebuilt"]);
  const detail = notices.find(({ kind }) => kind === "index_rebuilt")?.detail ?? "";
  assert.match(detail, /changed by another program, and 3 entries that were in it are gone/);
  assert.deepEqual(texts, []);
  assert.deepEqual(visit(dir).notices, []);
  withStore(dir, (store) => {
    const writer = store.openWriter("main", CWD);
    sayTurn(writer, "t2", "two");
    writer.close();
  });
  rmSync(join(dir, "sessions.db"));
  assert.deepEqual(visit(dir).texts, ["two", "answer to two"]);
});

test("lines cut off the end are counted, and what is left is read", (t) => {
  const { dir, file } = oneTurn(t);
  const lines = readFileSync(file, "utf8").split("\n");
  writeFileSync(file, `${lines.slice(0, 3).join("\n")}\n`);
  const { notices, texts } = visit(dir);
  assert.match(notices[0]?.detail ?? "", /1 entry that was in it is gone/);
  assert.deepEqual(kinds(notices), ["index_rebuilt", "interrupted_turn"]);
  assert.deepEqual(texts, ["one", "answer to one"]);
});

test("a transcript of a later version is refused and stays as it is", async (t) => {
  const { dir, file } = oneTurn(t);
  const later = withoutSums(readFileSync(file, "utf8")).replace('"version":3', '"version":4');
  writeFileSync(file, later);
  rmSync(join(dir, "sessions.db"));
  const store = openStore(dir);
  try {
    const refusal = {
      code: "store_read_failed",
      message: /has version 4 and was written by a newer Pagurus/,
    };
    assert.throws(() => store.openWriter("main", CWD), refusal);
    assert.throws(() => store.openReader("main"), refusal);
    await assert.rejects(store.fork("main", "copy"), refusal);
    assert.equal(store.list().length, 1);
  } finally {
    store.close();
  }
  assert.equal(readFileSync(file, "utf8"), later);
});

for (const [damage, spoil] of [
  ["a changed word", (line: Buffer) => line.write("twp", line.indexOf("two"))],
  ["a block of NULs", (line: Buffer) => line.fill(0, 0, line.length - 1)],
] as const)
  test(`${damage} in a transcript is reported when the context is read, with the entry (finding F5)`, (t) => {
    const { dir, file } = oneTurn(t);
    const ids: string[] = [];
    withStore(dir, (store) => {
      const writer = store.openWriter("main", CWD);
      for (const text of ["two", "three"]) ids.push(...sayTurn(writer, text, text));
      writer.close();
    });
    const bytes = readFileSync(file);
    const at = bytes.lastIndexOf("\n", bytes.indexOf('"content":"two"')) + 1;
    spoil(bytes.subarray(at, bytes.indexOf("\n", at) + 1));
    writeFileSync(file, bytes);
    withStore(dir, (store) => {
      const writer = store.openWriter("main", CWD);
      const reported: OpenNotice[] = [];
      writer.listen((notice) => reported.push(notice));
      const texts = writer.contextMessages().messages.map(textOf);
      assert.deepEqual(texts, ["one", "answer to one", "answer to two", "three", "answer to three"]);
      assert.deepEqual(kinds(reported), ["quarantined_line"]);
      assert.match(reported[0]?.detail ?? "", /A line of the transcript cannot be read and is skipped/);
      assert.match(
        readFileSync(file.replace(/jsonl$/, "jsonl.quarantine"), "utf8"),
        new RegExp(`"entry":"${ids[0]}"`),
      );
      // Once: the next read knows it.
      reported.length = 0;
      writer.contextMessages();
      writer.close();
      assert.deepEqual(reported, []);
    });
    assert.deepEqual(visit(dir).notices, []);
  });

test("lines without a checksum, of another program, stay readable (finding F5)", (t) => {
  const { dir, file } = oneTurn(t);
  assert.match(readFileSync(file, "utf8"), /^(?:\{.*,"crc32":"[0-9a-f]{8}"\}\n)+$/);
  writeFileSync(file, withoutSums(readFileSync(file, "utf8")));
  rmSync(join(dir, "sessions.db"));
  const { notices, texts } = visit(dir);
  assert.deepEqual(kinds(notices), ["index_rebuilt"]);
  assert.deepEqual(texts, ["one", "answer to one"]);
});

test("a transcript that a newer version continued is not appended to once more (finding F13)", (t) => {
  const { dir, file } = oneTurn(t);
  const later = withoutSums(readFileSync(file, "utf8")).replace('"version":3', '"version":4');
  writeFileSync(file, later);
  withStore(dir, (store) => {
    assert.throws(() => store.openWriter("main", CWD), { code: "store_read_failed" });
  });
  assert.equal(readFileSync(file, "utf8"), later);
});
