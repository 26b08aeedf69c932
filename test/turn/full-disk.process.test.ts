import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { makeSetting, start, type Setting } from "./setting.ts";
import { longTest } from "../runner/long-tests.ts";

/** A home whose agents are on a small disk; undefined when this user may not mount. */
function withDisk(t: TestContext): { place: Setting; disk: string; mounted: boolean } {
  const place = makeSetting();
  const disk = join(place.home, "agents");
  mkdirSync(disk, { mode: 0o700 });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=700", "none", disk]).status === 0;
  t.after(() => {
    if (mounted) spawnSync("umount", [disk]);
    else chmodSync(disk, 0o700);
    place.remove();
  });
  return { place, disk, mounted };
}

function fill(disk: string): void {
  const fd = openSync(join(disk, "ballast"), "w");
  try {
    for (;;) writeSync(fd, Buffer.alloc(4_096));
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, "ENOSPC");
  } finally {
    closeSync(fd);
  }
}

function assertNamed(stderr: string, cause: RegExp, disk: string): void {
  assert.match(stderr, cause);
  assert.ok(stderr.includes(disk), stderr);
  assert.doesNotMatch(stderr, /legacy|update its plugin|disk I\/O error|unable to open/i);
}

test("a full disk is named as the cause, with the path, and no other engine is advised (finding A10)", async (t) => {
  const { place, disk, mounted } = withDisk(t);
  // Without a disk to fill, a limit on file sizes stops the first write to a file.
  if (mounted) fill(disk);
  const limit = mounted ? undefined : "trap '' XFSZ; ulimit -f 0";
  const { code, stderr } = await start(place, ["run", "hi"], "", limit).finished;
  assert.equal(code, 1, stderr);
  assertNamed(stderr, mounted ? /the disk is full; free some space/ : /limit on the size of files/, disk);
});

longTest(
  "a home that cannot be written is named as the cause, with the path, and no other engine is advised (finding A10)",
  async (t) => {
    const { place, disk, mounted } = withDisk(t);
    mkdirSync(join(disk, "main"), { mode: 0o700 });
    writeFileSync(join(place.home, "pagurus.json"), "{ logging: { level: 'silent' } }", { mode: 0o600 });
    if (mounted) assert.equal(spawnSync("mount", ["-o", "remount,ro", disk]).status, 0);
    else chmodSync(join(disk, "main"), 0o500);
    const { code, stderr } = await start(place, ["run", "hi"]).finished;
    assert.equal(code, 1, stderr);
    assertNamed(stderr, /the file system is read-only|this user may not write there/, disk);
  },
);
