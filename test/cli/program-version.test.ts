/** The version of a wrapped program: asked once for each file, and reported once. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { programVersionNote } from "../../packages/cli/src/wire/program-version.ts";

describe("the version of a wrapped program", () => {
  let home: string;
  let command: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-test-"));
    command = join(home, "program");
  });
  afterEach(() => rmSync(home, { recursive: true }));

  function install(version: string): void {
    const counts = `printf 1 >> ${join(home, "asked")}`;
    writeFileSync(command, `#!/bin/sh\n${counts}\necho "codex-cli ${version}"\n`, { mode: 0o755 });
  }

  const asked = (): number => readFileSync(join(home, "asked"), "utf8").length;
  const note = (id = "codex"): Promise<string | undefined> =>
    programVersionNote({ id }, { command, env: {} }, { home, signal: AbortSignal.timeout(60_000) });

  it("is reported once when it was not tried, and again for another one", async () => {
    install("99.0.0");
    assert.match((await note()) ?? "", /^Codex 99\.0\.0 runs, and Pagurus was tried with /);
    assert.equal(await note(), undefined);
    assert.equal(asked(), 1);
    install("99.0.10");
    assert.match((await note()) ?? "", /^Codex 99\.0\.10 runs/);
    assert.equal(asked(), 2);
  });

  it("is not asked of a program that is not listed, and one that fails is left alone", async () => {
    install("99.0.0");
    assert.equal(await note("sh"), undefined);
    assert.throws(asked);
    rmSync(command);
    assert.equal(await note(), undefined);
  });
});
