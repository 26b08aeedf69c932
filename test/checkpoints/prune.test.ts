import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { CheckpointStore } from "../../packages/host/src/checkpoints/checkpoint-store.ts";
import { checkpointBytes } from "../../packages/host/src/checkpoints/checkpoint-root.ts";
import { prune } from "../../packages/host/src/checkpoints/prune.ts";
import { planRestore, restore } from "../../packages/host/src/checkpoints/restore.ts";
import { beginTurn, checkpointBefore, endTurn } from "../../packages/host/src/checkpoints/turn-marks.ts";
import { withoutGit } from "./trees.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const BYTES = 100_000;

describe("old checkpoints", () => {
  let folder: string;
  let root: string;
  let store: CheckpointStore;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-prune-")));
    root = join(folder, "root");
    mkdirSync(root);
    writeFileSync(join(root, "same.txt"), "the same");
    store = new CheckpointStore(join(folder, "home"), root);
  });
  afterEach(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Turns that each replace one file by bytes that cannot be compressed; the tree after each, by checkpoint. */
  function work(turns: number): Map<number, string[]> {
    const trees = new Map<number, string[]>();
    for (let turn = 0; turn < turns; turn += 1) {
      beginTurn(store, { turnId: `t${turn}`, session: "main", isInside: false });
      writeFileSync(join(root, "big.bin"), randomBytes(BYTES));
      endTurn(store, { turnId: `t${turn}`, isLate: false });
      trees.set(store.list(1)[0]?.id ?? 0, withoutGit(root));
    }
    return trees;
  }

  const limits = { maxBytes: 1024 ** 3, keepDays: 30 };
  const ids = (): number[] => store.list().map(({ id }) => id);

  it("are removed by age, except the last ten, and the others restore byte for byte", () => {
    const trees = work(30);
    const all = ids();
    prune(store, limits);
    assert.deepEqual(ids(), all, "none is old");
    prune(store, limits, Date.now() + 31 * DAY_MS);
    assert.deepEqual(ids(), all.slice(0, 10));
    assert.equal(store.db.get<{ count: number }>("SELECT count(*) AS count FROM objects")?.count, 11);
    for (const [id, tree] of trees) {
      if (!ids().includes(id)) continue;
      const report = restore(store, planRestore(store, id));
      assert.deepEqual(withoutGit(root), tree);
      assert.deepEqual(report.kept, []);
    }
    assert.equal(checkpointBefore(store, "t0"), undefined);
    assert.equal(typeof checkpointBefore(store, "t29"), "number");
  });

  it("are removed by size, the oldest first, and the disk gets its space back", () => {
    work(100);
    const before = checkpointBytes(join(folder, "home"), root).folder;
    assert.ok(before > 100 * BYTES);
    prune(store, { ...limits, maxBytes: 30 * BYTES });
    const left = ids();
    assert.ok(left.length >= 10 && left.length < 100, `${left.length} left`);
    assert.deepEqual(
      left,
      left.toSorted((a, b) => b - a),
    );
    store.close();
    const after = checkpointBytes(join(folder, "home"), root);
    assert.ok(after.folder < 60 * BYTES, `${after.folder} bytes`);
    assert.equal(after.all, after.folder);
    store = new CheckpointStore(join(folder, "home"), root);
    assert.equal(store.changes(left.at(-1) ?? 0, left[0] ?? 0).length, 1);
  });

  it("keep what a folder left out, and a file that was never changed", () => {
    mkdirSync(join(root, "node_modules"));
    const trees = work(30);
    prune(store, limits, Date.now() + 31 * DAY_MS);
    const [last] = [...trees.keys()].slice(-1);
    assert.deepEqual(store.leftOutAt(ids().at(-1) ?? 0), [{ path: "node_modules", why: "dependencies" }]);
    rmSync(join(root, "same.txt"));
    store.take({ kind: "after" });
    restore(store, planRestore(store, last ?? 0));
    assert.equal(readFileSync(join(root, "same.txt"), "utf8"), "the same");
  });
});
