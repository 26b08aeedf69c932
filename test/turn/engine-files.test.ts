import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { engineSessionFile } from "../../packages/host/src/turn/engine/engine-files.ts";

describe("the copy of a transcript that an engine gets", () => {
  let root: string;
  let transcript: string;
  let reported: string[];
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-mirror-"));
    transcript = join(root, "one.jsonl");
    reported = [];
    // Longer than the compared part of its end.
    writeFileSync(transcript, `first\n${"x".repeat(10_000)}\nlast\n`);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function given(): string {
    const failed = (reason: string): never => assert.fail(reason);
    return engineSessionFile({ bundled: false }, transcript, failed, (reason) => void reported.push(reason));
  }

  it("follows the transcript without a report", () => {
    const copy = given();
    appendFileSync(transcript, "more\n");
    assert.equal(given(), copy);
    assert.notEqual(copy, transcript);
    assert.equal(readFileSync(copy, "utf8"), readFileSync(transcript, "utf8"));
    assert.deepEqual(reported, []);
  });

  const changes: Record<string, (copy: string) => void> = {
    "is shortened": (copy) => writeFileSync(copy, "first\nlast\n"),
    "is emptied": (copy) => writeFileSync(copy, ""),
    "gets more lines": (copy) => appendFileSync(copy, "of the engine\n"),
    "is changed at its start, with the same length and end": (copy) =>
      writeFileSync(copy, readFileSync(copy, "utf8").replace("first", "FIRST")),
    "is deleted": (copy) => rmSync(copy),
    "becomes a link to the transcript": (copy) => {
      rmSync(copy);
      symlinkSync(transcript, copy);
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`that ${what} is rebuilt, and reported once`, () => {
      const before = readFileSync(transcript, "utf8");
      const copy = given();
      change(copy);
      appendFileSync(transcript, "more\n");
      given();
      assert.equal(reported.length, 1);
      assert.match(reported[0] ?? "", /rewrote its copy of the transcript; that is not taken over/);
      assert.equal(readFileSync(copy, "utf8"), `${before}more\n`);
      assert.equal(readFileSync(transcript, "utf8"), `${before}more\n`);
      given();
      assert.equal(reported.length, 1);
    });
  }

  it("is the transcript itself for a bundled engine", () => {
    assert.equal(
      engineSessionFile({ bundled: true }, transcript, (reason) => assert.fail(reason)),
      transcript,
    );
  });
});
