/** Versions of other programs: which are reported, how often, and what a pass of the suite changes. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  isTried,
  TRIED,
  untriedNote,
  type TriedProgram,
} from "../../packages/core/src/data/tried-programs.ts";
import {
  askedVersion,
  firstVersionNote,
  keepVersion,
  versionNote,
  versionPassed,
} from "../../packages/core/src/platform/version-notes.ts";

describe("a note on the version of a program", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-test-"));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  it("is made for no version of the tried range, and for those before and after it", () => {
    for (const [id, { from, to }] of Object.entries<TriedProgram>(TRIED)) {
      for (const version of [from, to]) assert.equal(untriedNote(id, version), undefined, `${id} ${version}`);
      for (const version of ["0.0.1", "999.0.0", "unknown"])
        assert.match(
          untriedNote(id, version) ?? "",
          new RegExp(`${version} runs, and Pagurus was tried with`),
        );
    }
    assert.ok(isTried({ from: "1.9.0", to: "1.10.2" }, "1.10.0"));
    assert.ok(!isTried({ from: "1.9.0", to: "1.10.2" }, "1.8.11"));
    assert.ok(!isTried({ from: "1.9.0", to: "1.10.2" }, "1.10.3"));
    assert.ok(!isTried({ from: "1.9.0", to: "1.10.2" }, "2.0.0"));
    assert.equal(untriedNote("a-program-of-the-user", "1.0.0"), undefined);
  });

  it("comes once for each version, also in the next process, and names the command that tries it", () => {
    assert.match(firstVersionNote(home, "codex", "99.0.0") ?? "", /pagurus runtimes test codex/);
    assert.equal(firstVersionNote(home, "codex", "99.0.0"), undefined);
    assert.notEqual(firstVersionNote(home, "codex", "99.0.1"), undefined);
    assert.notEqual(versionNote(home, "codex", "99.0.0"), undefined, "a doctor reports it each time");
  });

  it("ends with a pass of the suite, for the program and version that it ran with alone", () => {
    const passed = (runtime: string, program: string, version: string): void =>
      versionPassed(home, runtime, { program, version });
    firstVersionNote(home, "claude", "99.0.0");
    passed("codex", "/opt/my-codex app-server", "99.0.0");
    passed("acp", "/opt/bin/gemini", "99.0.0");
    passed("acp", "/opt/bin/an-agent-of-the-user", "99.0.0");
    assert.equal(versionNote(home, "codex", "99.0.0"), undefined, "also if it was never reported before");
    assert.equal(versionNote(home, "gemini", "99.0.0"), undefined);
    assert.notEqual(versionNote(home, "codex", "99.0.1"), undefined);
    assert.notEqual(versionNote(home, "claude", "99.0.0"), undefined);
    assert.notEqual(versionNote(home, "qwen", "99.0.0"), undefined, "another agent of the same runtime");
  });

  it("names a command only for a program that a suite can try, whose pass ends it", () => {
    for (const id of ["pi", "acpx", "opencode"]) {
      assert.match(untriedNote(id, "99.0.0") ?? "", new RegExp(`; pagurus runtimes test ${id} tries it\\.$`));
      versionPassed(home, id, { program: `/opt/bin/${id}`, version: "99.0.0" });
      assert.equal(versionNote(home, id, "99.0.0"), undefined);
    }
    for (const id of ["droid", "pi-acp"])
      assert.match(untriedNote(id, "99.0.0") ?? "", /; if it fails, install one of these\.$/);
  });

  it("survives a file that holds something else", () => {
    for (const text of ["", "[]", '{"reported":3,"files":[1]}', "{"]) {
      writeFileSync(join(home, "program-versions.json"), text);
      assert.notEqual(firstVersionNote(home, "pi", "99.0.0"), undefined, text);
    }
  });

  it("asks a program again when its file has changed", () => {
    keepVersion(home, "pi", { stamp: "/bin/pi 1 1", version: "1.6.0" });
    assert.equal(askedVersion(home, "pi", "/bin/pi 1 1"), "1.6.0");
    assert.equal(askedVersion(home, "pi", "/bin/pi 2 1"), undefined);
    assert.equal(askedVersion(home, "codex", "/bin/pi 1 1"), undefined);
  });
});
