/** Tests reading the newest lines of a long transcript without the rest. */
import assert from "node:assert/strict";
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { newestLines } from "../../packages/cli/src/chat/transcript-tail.ts";

describe("the newest lines of a transcript", () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-tail-"));
  after(() => rmSync(root, { recursive: true, force: true }));

  it("are read from its end alone, however long it is (finding F9)", () => {
    const file = join(root, "long.jsonl");
    const fd = openSync(file, "w");
    // A hole of 3 GB: more than a text can hold, so reading it as a whole would fail.
    const hole = 3 * 1024 ** 3;
    ftruncateSync(fd, hole);
    writeSync(fd, Buffer.from("\none\ntwo\nthree\nunfinished"), 0, null, hole);
    closeSync(fd);
    const lines = newestLines(file, (found) => found.length >= 3);
    assert.deepEqual(lines.slice(-3), ["one", "two", "three"]);
  });

  it("are all of them where there are fewer, and whole where they are longer than a piece (finding F9)", () => {
    const file = join(root, "short.jsonl");
    const lines = ["head", "é".repeat(3_000_000), "tail"];
    writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
    assert.deepEqual(
      newestLines(file, (found) => found.length >= 9),
      lines,
    );
    assert.deepEqual(newestLines(file, (found) => found.length >= 2).slice(-2), lines.slice(1));
  });
});
