import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assistant, openStore, sayTurn, temporaryFolder, user } from "./fixtures.ts";

const CWD = { cwd: "/project" };

test("an entry's place is its line and its position among the path's messages, indexed or not", (t) => {
  const store = openStore(temporaryFolder(t));
  const writer = store.openWriter("main", CWD);
  const [one = "", answer = ""] = sayTurn(writer, "t1", "one");
  const pending = writer.append({ type: "message", turnId: "t2", message: user("two") });
  const note = writer.append({ type: "custom", customType: "x" });
  assert.deepEqual(writer.place(one), { rawSeq: 1, messagePosition: 0 });
  assert.deepEqual(writer.place(answer), { rawSeq: 2, messagePosition: 1 });
  assert.deepEqual(writer.place(pending.id), { rawSeq: 4, messagePosition: 2 });
  assert.deepEqual(writer.place(note.id), { rawSeq: 5, messagePosition: 3 });
  assert.equal(writer.place("nobody"), undefined);
  assert.equal(writer.place(""), undefined);

  writer.rewind(one);
  const other = writer.append({ type: "message", turnId: "t3", message: assistant("other") });
  assert.deepEqual(writer.place(other.id), { rawSeq: 7, messagePosition: 1 });
  assert.deepEqual(writer.place(answer), { rawSeq: 2, messagePosition: undefined });
  writer.close();
  store.close();
});

test("an unreadable line counts as a line, a lost header as none", (t) => {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  const writer = store.openWriter("main", CWD);
  const { file } = writer.record;
  const [one = ""] = sayTurn(writer, "t1", "one");
  writer.close();
  const [head = "", first = "", ...rest] = readFileSync(file, "utf8").split("\n");
  writeFileSync(file, [head, first, "garbage", ...rest].join("\n"));
  const again = store.openWriter("main", CWD);
  const [two = ""] = sayTurn(again, "t2", "two");
  assert.deepEqual(again.place(two), { rawSeq: 5, messagePosition: 2 });
  again.close();
  store.close();

  const [header = "", ...lines] = readFileSync(file, "utf8").split("\n");
  for (const instead of [["x".repeat(header.length)], []]) {
    writeFileSync(file, [...instead, ...lines].join("\n"));
    for (const end of ["", "-wal", "-shm"]) rmSync(join(dir, `sessions.db${end}`), { force: true });
    const other = openStore(dir);
    const key = other.list()[0]?.sessionKey ?? "";
    const damaged = other.openWriter(key, CWD);
    assert.deepEqual(damaged.place(one), { rawSeq: 1, messagePosition: 0 });
    assert.deepEqual(damaged.place(two), { rawSeq: 5, messagePosition: 2 });
    damaged.close();
    other.close();
  }
});

test("an entry's place comes from the index: a missing transcript does not matter", (t) => {
  const store = openStore(temporaryFolder(t));
  const writer = store.openWriter("main", CWD);
  const ids = ["a", "b", "c"].flatMap((text) => sayTurn(writer, text, text));
  const bytes = readFileSync(writer.record.file);
  writeFileSync(writer.record.file, Buffer.alloc(bytes.length, 0x20));
  assert.deepEqual(
    ids.map((id) => writer.place(id)?.messagePosition),
    [0, 1, 2, 3, 4, 5],
  );
  writeFileSync(writer.record.file, bytes);
  writer.close();
  store.close();
});
