import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import { keepHomePrivate } from "../../packages/core/src/config/open-home.ts";

describe("the home folder", { skip: process.platform === "win32" }, () => {
  let home: string;
  beforeEach(() => (home = mkdtempSync(join(tmpdir(), "pagurus-home-"))));
  afterEach(() => rmSync(home, { recursive: true }));
  const modeOf = (path: string): number => statSync(path).mode & 0o7777;

  it("is closed to other users when a host opens it", async () => {
    chmodSync(home, 0o755);
    const pagurus = await createPagurus({ home, env: {} });
    await pagurus.close();
    assert.equal(modeOf(home), 0o700);
  });

  it("keeps the owner's rights as they are", () => {
    for (const [before, after] of [
      [0o777, 0o700],
      [0o750, 0o700],
      [0o555, 0o500],
      [0o700, 0o700],
    ] as const) {
      chmodSync(home, before);
      keepHomePrivate(home);
      assert.equal(modeOf(home), after);
    }
  });

  it("stays as it is if it is shared, or holds more than our files", () => {
    chmodSync(home, 0o1777);
    keepHomePrivate(home);
    assert.equal(modeOf(home), 0o1777);
    const before = modeOf(homedir());
    keepHomePrivate(homedir());
    keepHomePrivate("/");
    assert.equal(modeOf(homedir()), before);
    keepHomePrivate(join(home, "missing"));
  });
});
