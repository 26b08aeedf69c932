/** A restore that is killed at its steps: the next start finishes it and names it, and its undo brings the tree back. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CheckpointStore } from "../../packages/host/src/checkpoints/checkpoint-store.ts";
import { finishInterrupted, planRestore, restore } from "../../packages/host/src/checkpoints/restore.ts";
import { random } from "../runner/seeded-random.ts";
import { byLength } from "../runner/short-form.ts";
import { edit, withoutGit } from "./trees.ts";

const KILLS = byLength(300, 8, 4);
const EDITS = 25;

/** Returns whether the child was killed; false where it had fewer steps. */
function killedAt(stop: number, seed: number): boolean {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-undo-")));
  const [home, root] = [join(folder, "home"), join(folder, "root")];
  mkdirSync(root);
  const store = new CheckpointStore(home, root);
  try {
    const number = random(seed);
    const next = (below: number): number => Math.floor(number() * below);
    for (let n = 0; n < EDITS; n += 1) edit(root, next, "");
    const { id } = store.take({ kind: "now" });
    const before = withoutGit(root);
    for (let n = 0; n < EDITS; n += 1) edit(root, next, "");
    const after = store.take({ kind: "after" });
    const now = withoutGit(root);
    const script = join(import.meta.dirname, "restored.child.ts");
    const args = [script, home, root, String(id), String(stop)];
    const child = spawnSync(process.execPath, args, {
      stdio: ["ignore", "ignore", "pipe"],
      encoding: "utf8",
    });
    const isKilled = child.signal === "SIGKILL";
    assert.ok(isKilled || child.status === 0, child.stderr);
    const [report] = finishInterrupted(store);
    assert.equal(report !== undefined, isKilled);
    assert.deepEqual(report?.kept ?? [], []);
    assert.deepEqual(withoutGit(root), before, `step ${stop}, seed ${seed}`);
    const undone = restore(store, planRestore(store, after.id));
    assert.deepEqual(undone.kept, []);
    assert.deepEqual(withoutGit(root), now, `step ${stop}, seed ${seed}, undone`);
    return isKilled;
  } finally {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

test(`${KILLS} kills during a restore leave either state after the next start, which names it`, () => {
  let stop = 1;
  let killed = 0;
  for (let seed = 1; killed < KILLS; seed += 1) {
    const isKilled = killedAt(stop, seed);
    killed += isKilled ? 1 : 0;
    // Every step of a restore in the end, and far apart ones first.
    stop = isKilled ? stop + 7 : (stop % 7) + 1;
  }
});
