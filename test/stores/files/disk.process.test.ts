import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { collect, entriesOf, filesWith, openStore, sayTurn, temporaryFolder, textOf } from "./fixtures.ts";
import { longTest } from "../../runner/long-tests.ts";

const CHILD = join(import.meta.dirname, "writer.child.ts");
const CWD = { cwd: "/w" };

/** A folder on a small file system of its own; undefined when mounting is not allowed. */
function smallDisk(t: TestContext): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", folder]).status === 0;
  t.after(() => {
    if (mounted) spawnSync("umount", [folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return mounted ? folder : undefined;
}

interface Line {
  turnId?: string;
  code?: string;
  message?: string;
}

/** Writes turns in a child until the store refuses. `limit`: file size limit in blocks of 512 bytes. */
function fillUp(dir: string, limit?: number): { turns: string[]; last: Line } {
  const command = `${limit === undefined ? "" : `trap '' XFSZ; ulimit -f ${limit}; `}exec "$0" "$@"`;
  const run = spawnSync("sh", ["-c", command, process.execPath, CHILD, "fill", dir, "f"], {
    encoding: "utf8",
  });
  assert.equal(run.status, 0, run.stderr);
  const lines = run.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  return { turns: lines.flatMap((line) => line.turnId ?? []), last: lines.at(-1) ?? {} };
}

/** Everything that was reported as committed exists, the file ends with a whole line, and the next turn runs. */
function checkAfter(dir: string, turns: readonly string[]): void {
  const store = openStore(dir);
  const writer = store.openWriter("main", CWD);
  assert.ok(!writer.notices.some((notice) => notice.kind === "torn_line"));
  sayTurn(writer, "next", "goes on");
  const outcomes = entriesOf(writer.record.file).flatMap((entry) =>
    entry.type === "turn_commit" ? [[entry.turnId, entry.outcome]] : [],
  );
  const completed = outcomes.flatMap(([turnId, outcome]) => (outcome === "completed" ? [turnId] : []));
  assert.deepEqual(completed, [...turns, "next"]);
  assert.ok(turns.length > 3);
  assert.equal(
    writer.contextMessages().messages.filter((message) => textOf(message) === "goes on").length,
    1,
  );
  writer.close();
  store.close();
}

test("a full disk fails the append with a clear sentence and loses nothing that was committed", (t) => {
  const dir = smallDisk(t);
  if (dir === undefined) {
    // Without the right to mount, a limit on file sizes stops writes at the same place.
    const folder = temporaryFolder(t);
    const { turns, last } = fillUp(folder, 2_000);
    assert.equal(last.code, "store_write_failed");
    checkAfter(folder, turns);
    return;
  }
  writeFileSync(join(dir, "ballast"), Buffer.alloc(200_000));
  const { turns, last } = fillUp(dir);
  assert.equal(last.code, "store_write_failed");
  assert.match(
    last.message ?? "",
    /Cannot write .*\.jsonl: the disk is full; free some space and try again\.$/,
  );
  const store = openStore(dir);
  const reader = store.openReader("main");
  assert.equal(reader.contextMessages().complete, true);
  reader.close();
  store.close();
  rmSync(join(dir, "ballast"));
  checkAfter(dir, turns);
  assert.throws(() => writeFileSync(join(dir, "ballast"), Buffer.alloc(2_000_000)), { code: "ENOSPC" });
  const freeing = openStore(dir);
  assert.equal(freeing.delete("main").sessions, 1);
  freeing.close();
  assert.deepEqual(filesWith(dir, "prompt"), []);
});

longTest(
  "a limit on the size of files fails the append with a clear sentence and loses nothing that was committed",
  (t) => {
    const dir = temporaryFolder(t);
    const { turns, last } = fillUp(dir, 1_000);
    assert.equal(last.code, "store_write_failed");
    assert.match(last.message ?? "", /a limit on the size of files was reached/);
    checkAfter(dir, turns);
  },
);

test("a folder that cannot be written refuses writes with one sentence and can be read", async (t) => {
  const mounted = smallDisk(t);
  const dir = mounted ?? temporaryFolder(t);
  const store = openStore(dir);
  const writer = store.openWriter("main", CWD);
  sayTurn(writer, "t1", "words to find");
  writer.close();
  store.close();
  const before = readFileSync(writer.record.file);
  if (mounted) {
    const remounted = spawnSync("mount", ["-o", "remount,ro", mounted], { encoding: "utf8" });
    assert.equal(remounted.status, 0, remounted.stderr);
  }
  if (!mounted) for (const folder of [join(dir, "sessions"), dir]) chmodSync(folder, 0o500);
  if (!mounted && process.getuid?.() === 0) {
    // Root may write anywhere, so the folder has to be in an impossible place.
    const file = join(temporaryFolder(t), "file");
    writeFileSync(file, "");
    assert.throws(() => openStore(join(file, "agent")).openWriter("main", CWD), {
      code: "store_write_failed",
    });
    return;
  }
  const frozen = openStore(dir);
  assert.throws(
    () => frozen.openWriter("main", CWD),
    (error: Error & { code?: string }) =>
      error.code === "store_write_failed" && /Cannot write .*: .*read-only|may not write/.test(error.message),
  );
  assert.throws(() => frozen.openWriter("new", CWD), { code: "store_write_failed" });
  assert.throws(() => frozen.delete("main"), { code: "store_write_failed" });
  assert.equal(frozen.find("main")?.entryCount, 3);
  assert.equal(frozen.search("find").length, 2);
  const reader = frozen.openReader("main");
  assert.equal(reader.contextMessages().messages.length, 2);
  assert.equal((await collect(reader.cursor.forward())).length, 3);
  reader.close();
  frozen.close();
  assert.deepEqual(readFileSync(writer.record.file), before);
  if (!mounted) for (const folder of [dir, join(dir, "sessions")]) chmodSync(folder, 0o700);
});

test("a home below a file is refused with one sentence", (t) => {
  const file = join(temporaryFolder(t), "file");
  writeFileSync(file, "");
  const store = openStore(join(file, "agent"));
  assert.throws(() => store.openWriter("main", CWD), { code: "store_write_failed" });
  assert.deepEqual(store.list(), []);
  store.close();
});

test("a fresh home on a read-only file system or a full disk is refused by name, and read as empty", (t) => {
  const mounted = smallDisk(t);
  if (mounted === undefined) {
    // Without the right to mount, a place where no user may create a folder is used.
    assert.throws(() => openStore("/proc/pagurus/agents/main").openWriter("main", CWD), {
      code: "store_write_failed",
      message: /^Cannot create the folder \/proc\/pagurus\/agents\/main\/sessions: /,
    });
    return;
  }
  const dir = join(mounted, "agents", "main");
  const attempt = (reason: RegExp): void => {
    const store = openStore(dir);
    assert.throws(
      () => store.openWriter("main", CWD),
      (error: Error & { code?: string }) =>
        error.code === "store_write_failed" && error.message.includes(dir) && reason.test(error.message),
    );
    assert.deepEqual(store.list(), []);
    store.close();
  };
  spawnSync("mount", ["-o", "remount,ro", mounted]);
  attempt(/^Cannot create the folder .*: the file system is read-only; make it writable/);
  spawnSync("mount", ["-o", "remount,rw", mounted]);
  assert.throws(() => writeFileSync(join(mounted, "ballast"), Buffer.alloc(2_000_000)), { code: "ENOSPC" });
  attempt(/the disk is full; free some space/);
});
