import assert from "node:assert/strict";
import { appendFileSync, copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import { filesWith, openStore, orphanLock, sayTurn, temporaryFolder, withoutSums } from "./fixtures.ts";

const CWD = { cwd: "/project" };
/** Different from the first letter on: the word index stores only the difference from the word before. */
const WORDS = ["xylophonequartz", "jackdawsphinx", "密码保险箱"];
const SENTENCE = `the ${WORDS.join(" and ")} are ours`;

function traces(dir: string): string[] {
  return WORDS.flatMap((word) => filesWith(dir, word.slice(0, 9)).map((file) => `${word} in ${file}`));
}

/** A session with its words in every kind of file that can be next to it. */
function fill(store: SessionStore, key: string): void {
  const writer = store.openWriter(key, CWD);
  sayTurn(writer, writer.record.sessionId, SENTENCE);
  writer.append({ type: "session_info", name: WORDS[0] ?? "" });
  writer.close();
  const { file } = writer.record;
  const beside = (suffix: string): string => file.replace(/\.jsonl$/, suffix);
  appendFileSync(file, `{"noise":"${WORDS[1]}"}\n{"torn ${WORDS[1]}`);
  orphanLock(file);
  store.openWriter(key, CWD).close();
  appendFileSync(beside(".jsonl.quarantine"), SENTENCE);
  writeFileSync(beside(".receipts.jsonl"), SENTENCE);
  copyFileSync(file, beside(".mirror.jsonl"));
  // The leftover of a process that died in the middle of a write.
  writeFileSync(join(file, "..", `.${writer.record.sessionId}.99.tmp`), SENTENCE);
  assert.ok(readFileSync(beside(".jsonl.torn")).includes(WORDS[1] ?? ""));
}

test("deletion leaves no byte of the words in any file", (t) => {
  const dir = temporaryFolder(t);
  const store = openStore(dir);
  t.after(() => store.close());
  fill(store, "secret");
  store.renew("secret", CWD);
  fill(store, "secret");
  const other = store.openWriter("other", CWD);
  sayTurn(other, "t1", "stays");
  other.close();
  assert.equal(store.search(WORDS[0] ?? "").length, 4);
  assert.ok(traces(dir).length > 3 * WORDS.length);
  assert.equal(store.delete("secret").sessions, 2);
  assert.deepEqual(traces(dir), []);
  assert.deepEqual(store.search(WORDS[0] ?? ""), []);
  assert.deepEqual(
    store.list().map((record) => record.sessionKey),
    ["other"],
  );
  assert.equal(store.search("stays").length, 2);
});

test("deletion leaves none after forks, an index rebuild, another program's edit and a second process's view", async (t) => {
  const dir = temporaryFolder(t);
  const before = openStore(dir);
  fill(before, "secret");
  await before.fork("secret", "copy");
  before.search(SENTENCE);
  before.close();
  rmSync(join(dir, "sessions.db"));
  const store = openStore(dir);
  const second = openStore(dir);
  t.after(() => {
    store.close();
    second.close();
  });
  assert.equal(store.search(WORDS[0] ?? "").length, 4);
  assert.equal(second.search(WORDS[1] ?? "").length, 4);
  // Rows of words that are no longer in the file are gone too.
  const copy = store.find("copy")?.file ?? "";
  writeFileSync(copy, withoutSums(readFileSync(copy, "utf8")).replaceAll(WORDS[0] ?? "", "something"));
  assert.equal(store.search(WORDS[0] ?? "").length, 2);
  assert.equal(store.delete("secret").sessions, 1);
  const index = join(dir, "sessions.db");
  for (const file of [index, `${index}-wal`]) assert.ok(!readFileSync(file).includes(WORDS[0] ?? ""), file);
  assert.equal(second.search(WORDS[1] ?? "").length, 2);
  assert.equal(store.delete("copy").sessions, 1);
  assert.deepEqual(traces(dir), []);
  assert.deepEqual(second.list(), []);
  assert.deepEqual(second.search(WORDS[1] ?? ""), []);
});
