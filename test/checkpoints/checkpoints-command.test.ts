import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { command } from "../cli/fake-cli.ts";

const FOLDER = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-checkpoints-")));
const ROOT = join(FOLDER, "project");
const NOTES = join(ROOT, "notes.md");

async function checkpoints(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { PAGURUS_HOME: join(FOLDER, "home") };
  return command(["checkpoints", ...args, "--cwd", ROOT], { env });
}

describe("pagurus checkpoints", () => {
  after(() => rmSync(FOLDER, { recursive: true, force: true }));

  it("shows, previews, restores and takes back what a turn changed", async () => {
    mkdirSync(join(ROOT, "node_modules", "a"), { recursive: true });
    writeFileSync(NOTES, "one\ntwo\n");
    assert.equal((await checkpoints("take")).out, "Checkpoint 1: 1 changed.\n");
    writeFileSync(NOTES, "one\n2\n");
    writeFileSync(join(ROOT, "new.txt"), "new\n");
    assert.equal((await checkpoints("take", "--of-turn")).out, "Checkpoint 2: 2 changed.\n");
    assert.match(
      (await checkpoints("list")).out,
      /^ +2 .* after a turn +2 changed\n +1 .* as it was +1 changed\n$/,
    );
    assert.match(
      (await checkpoints("show", "1")).out,
      /A notes\.md\nLeft out: node_modules \(dependencies\)\n$/,
    );
    const diff = "A new.txt\n@@ line 1 @@\n+new\nM notes.md\n@@ line 2 @@\n-two\n+2\n";
    assert.equal((await checkpoints("diff", "1", "2")).out, diff);
    assert.equal((await checkpoints("restore", "1", "--dry-run")).out, "D new.txt\nM notes.md\n");
    assert.equal(readFileSync(NOTES, "utf8"), "one\n2\n");
    const done = await checkpoints("restore", "1");
    assert.equal(done.out, "Restored 2 paths; `pagurus checkpoints restore 2` takes it back.\n");
    assert.equal(done.code, 0);
    assert.equal(readFileSync(NOTES, "utf8"), "one\ntwo\n");
    await checkpoints("restore", "2");
    assert.equal(readFileSync(NOTES, "utf8"), "one\n2\n");
  });

  it("keeps what the user changed since, names it and exits with 1", async () => {
    writeFileSync(NOTES, "mine\n");
    const kept = await checkpoints("restore", "1");
    assert.match(kept.out, /Kept as it is: notes\.md: you changed it since\.\n/);
    assert.equal(kept.code, 1);
    assert.equal(readFileSync(NOTES, "utf8"), "mine\n");
  });

  it("names an unknown checkpoint and what lists them", async () => {
    const unknown = await checkpoints("show", "99");
    assert.match(unknown.err, /There is no checkpoint 99 of .*; `pagurus checkpoints list` shows them\./);
    assert.notEqual(unknown.code, 0);
  });
});
