import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FolderFiles } from "../../packages/host/src/tool/files/folder-files.ts";
import { TestClock } from "../runner/test-clock.ts";
import { temporaryFolder } from "./fixture.ts";

function folderWith(t: Parameters<typeof temporaryFolder>[0], ...names: string[]): string {
  const folder = temporaryFolder(t);
  for (const name of names) writeFileSync(join(folder, name), name);
  return folder;
}

test("a folder that is asked for at each key is listed once in ten seconds, for all who ask", async (t) => {
  const clock = new TestClock();
  const files = new FolderFiles(clock);
  const folder = folderWith(t, "one.txt");
  const [first, second] = await Promise.all([files.list(folder), files.list(folder)]);
  assert.deepEqual(first, ["one.txt"]);
  assert.equal(second, first);
  writeFileSync(join(folder, "two.txt"), "two");
  assert.equal(await files.list(folder), first);
  clock.move(10_000);
  assert.deepEqual(await files.list(folder), ["one.txt", "two.txt"]);
});

test("each folder has its own files, and only the last eight are kept", async (t) => {
  const files = new FolderFiles(new TestClock());
  const base = temporaryFolder(t);
  const folders = Array.from({ length: 9 }, (_, at) => join(base, `folder-${at}`));
  for (const [at, folder] of folders.entries()) {
    mkdirSync(folder);
    writeFileSync(join(folder, `own-${at}.txt`), "own");
    assert.deepEqual(await files.list(folder), [`own-${at}.txt`]);
  }
  for (const folder of folders) writeFileSync(join(folder, "z.txt"), "later");
  const last = folders[8] ?? "";
  assert.deepEqual(await files.list(last), ["own-8.txt"]);
  assert.deepEqual(await files.list(folders[0] ?? ""), ["z.txt", "own-0.txt"]);
});
