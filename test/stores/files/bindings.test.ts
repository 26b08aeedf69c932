import assert from "node:assert/strict";
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { readBinding, writeBinding } from "../../../packages/host/src/stores/files/bindings.ts";
import type { SessionRecord } from "../../../packages/contract/src/session/writer.ts";
import { openStore, temporaryFolder } from "./fixtures.ts";

function place(t: Parameters<typeof temporaryFolder>[0]): { record: SessionRecord; file: string } {
  const store = openStore(temporaryFolder(t));
  t.after(() => store.close());
  const writer = store.openWriter("main", { cwd: "/project" });
  t.after(() => writer.close());
  const { record } = writer;
  return { record, file: record.file.replace(/\.jsonl$/, ".bindings.json") };
}

const long = { nativeId: "thread-1", state: { words: "x".repeat(3_000) } };
const short = { nativeId: "thread-2", state: {} };

test("bindings of two runtimes stay independent, whichever is overwritten and with any length", (t) => {
  const { record } = place(t);
  writeBinding(record, "codex", long);
  writeBinding(record, "acp", short);
  assert.deepEqual([readBinding(record, "codex"), readBinding(record, "acp")], [long, short]);
  writeBinding(record, "codex", short);
  assert.deepEqual([readBinding(record, "codex"), readBinding(record, "acp")], [short, short]);
  writeBinding(record, "acp", long);
  writeBinding(record, "codex", undefined);
  assert.deepEqual([readBinding(record, "codex"), readBinding(record, "acp")], [undefined, long]);
});

test("removing a binding that does not exist writes no file", (t) => {
  const { record, file } = place(t);
  writeBinding(record, "codex", undefined);
  assert.throws(() => readFileSync(file), { code: "ENOENT" });
});

test("a file that a power cut left half written counts as none, and is written again", (t) => {
  const { record, file } = place(t);
  writeBinding(record, "codex", long);
  const before = readFileSync(file);
  writeBinding(record, "codex", { ...long, nativeId: "thread-9" });
  const after = readFileSync(file);
  // The first sector of one, the rest of the other: JSON that no writer wrote.
  writeFileSync(file, Buffer.concat([after.subarray(0, 512), before.subarray(512)]));
  assert.equal(readBinding(record, "codex"), undefined);
  truncateSync(file, 700);
  assert.equal(readBinding(record, "codex"), undefined);
  writeBinding(record, "codex", short);
  assert.deepEqual(readBinding(record, "codex"), short);
});

test("bytes of a longer former write after the checksum are ignored", (t) => {
  const { record, file } = place(t);
  writeBinding(record, "codex", short);
  writeFileSync(file, `${readFileSync(file, "utf8")}rest of an earlier line"}}\n`);
  assert.deepEqual(readBinding(record, "codex"), short);
});

test("a file without a checksum counts as none", (t) => {
  const { record, file } = place(t);
  writeFileSync(file, `${JSON.stringify({ codex: short })}\n`);
  assert.equal(readBinding(record, "codex"), undefined);
});
