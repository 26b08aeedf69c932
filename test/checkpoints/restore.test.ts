import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CheckpointStore } from "../../packages/host/src/checkpoints/checkpoint-store.ts";
import { finishInterrupted, planRestore, restore } from "../../packages/host/src/checkpoints/restore.ts";
import { random } from "../runner/seeded-random.ts";
import { byLength } from "../runner/short-form.ts";
import { edit, snapshot, withoutGit } from "./trees.ts";

const SCRIPTS = byLength(1_000, 40, 10);
const STEPS = byLength(1, 1, 4);

function numbers(seed: number): (below: number) => number {
  const next = random(seed);
  return (below) => Math.floor(next() * below);
}

function within(work: (root: string, store: CheckpointStore, home: string) => void): void {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-undo-")));
  const [home, root] = [join(folder, "home"), join(folder, "root")];
  mkdirSync(root);
  const store = new CheckpointStore(home, root);
  try {
    work(root, store, home);
  } finally {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("a restore of files", () => {
  it("gives back the tree of each checkpoint byte for byte, and its own undo does too", () => {
    for (let seed = 1; seed <= SCRIPTS; seed += 1)
      within((root, store) => {
        const next = numbers(seed * 7919);
        const states: { id: number; tree: string[] }[] = [];
        for (let turn = 0; turn < 5; turn += 1) {
          const { id } = store.take({ kind: "after" });
          states.push({ id, tree: withoutGit(root) });
          for (let n = next(8); n >= 0; n -= 1) edit(root, next, "", { nested: true });
        }
        // Everything written since the last checkpoint counts as a turn's, not the user's.
        store.take({ kind: "after" });
        const now = withoutGit(root);
        const target = states[next(states.length)];
        assert.ok(target);
        const report = restore(store, planRestore(store, target.id));
        const atGit = report.kept.filter(({ why }) => why === "it contains what is left out or kept");
        const left = new Set(atGit.map(({ path }) => path));
        // Such a folder is there in place of the file, too, that the checkpoint has at its path.
        const isLeft = (line: string): boolean =>
          [...left].some((path) => [" ", "/ "].some((end) => line.startsWith(`${path}${end}`)));
        assert.deepEqual(
          withoutGit(root).filter((line) => !isLeft(line)),
          target.tree.filter((line) => !isLeft(line)),
          `seed ${seed}, kept ${JSON.stringify(report.kept)}`,
        );
        if (left.size > 0) return;
        const back = restore(store, planRestore(store, report.from));
        assert.deepEqual(back.kept, [], `seed ${seed}`);
        assert.deepEqual(withoutGit(root), now, `seed ${seed}, undone`);
      });
  });

  it("leaves every file that the user changed since as it is, and names it", () => {
    for (let seed = 1; seed <= SCRIPTS; seed += 1)
      within((root, store) => {
        const next = numbers(seed * 104_729);
        mkdirSync(join(root, "agent"));
        mkdirSync(join(root, "user"));
        for (let n = 0; n < 6; n += 1) edit(root, next, n % 2 === 0 ? "agent" : "user");
        const { id } = store.take({ kind: "now" });
        const before = withoutGit(join(root, "agent"));
        for (let n = 0; n < 6; n += 1) edit(root, next, "agent");
        store.take({ kind: "after" });
        for (let n = 0; n < 6; n += 1) edit(root, next, "user");
        const own = snapshot(join(root, "user"));
        const report = restore(store, planRestore(store, id));
        assert.deepEqual(snapshot(join(root, "user")), own, `seed ${seed}`);
        const agent = withoutGit(join(root, "agent"));
        const named = report.kept.filter(({ path }) => path.startsWith("agent")).length;
        if (named === 0) assert.deepEqual(agent, before, `seed ${seed}`);
      });
  });

  it("overwrites a file that both changed only with a yes, and its undo brings the user's bytes back", () => {
    within((root, store) => {
      const file = join(root, "notes.md");
      writeFileSync(file, "first\n");
      const { id } = store.take({ kind: "now" });
      writeFileSync(file, "of the agent\n");
      store.take({ kind: "after" });
      writeFileSync(file, "of the user\n");
      const refused = restore(store, planRestore(store, id));
      assert.deepEqual(refused.kept, [{ path: "notes.md", why: "you changed it since" }]);
      assert.equal(readFileSync(file, "utf8"), "of the user\n");
      const done = restore(store, planRestore(store, id, { overwrite: true }));
      assert.deepEqual(done.restored, ["notes.md"]);
      assert.equal(readFileSync(file, "utf8"), "first\n");
      restore(store, planRestore(store, done.from));
      assert.equal(readFileSync(file, "utf8"), "of the user\n");
    });
  });

  it("replaces a link that leads to itself by the folder that was there", () => {
    within((root, store) => {
      mkdirSync(join(root, "d", "e"), { recursive: true });
      writeFileSync(join(root, "d", "e", "a"), "kept");
      const { id } = store.take({ kind: "now" });
      const tree = withoutGit(root);
      rmSync(join(root, "d"), { recursive: true });
      symlinkSync("d", join(root, "d"));
      store.take({ kind: "after" });
      const report = restore(store, planRestore(store, id));
      assert.deepEqual(report.kept, []);
      assert.deepEqual(withoutGit(root), tree);
    });
  });

  it("writes through no link that took the place of a folder", () => {
    within((root, store, home) => {
      mkdirSync(join(root, "src"));
      writeFileSync(join(root, "src", "a.ts"), "1\n");
      const { id } = store.take({ kind: "now" });
      writeFileSync(join(root, "src", "a.ts"), "2\n");
      store.take({ kind: "after" });
      const plan = planRestore(store, id);
      const outside = join(home, "outside");
      mkdirSync(outside);
      writeFileSync(join(outside, "a.ts"), "2\n");
      rmSync(join(root, "src"), { recursive: true });
      symlinkSync(outside, join(root, "src"));
      const { kept } = restore(store, plan);
      assert.deepEqual(kept, [{ path: "src/a.ts", why: "its folder is another one now" }]);
      assert.equal(readFileSync(join(outside, "a.ts"), "utf8"), "2\n");
    });
  });

  it("never deletes a file that the checkpoint left out for its size", () => {
    within((root, store) => {
      const file = join(root, "data.bin");
      writeFileSync(file, Buffer.alloc(17 * 1024 * 1024));
      const { id } = store.take({ kind: "now" });
      assert.deepEqual(store.leftOutAt(id), [{ path: "data.bin", why: "17 MB" }]);
      writeFileSync(file, "small\n");
      store.take({ kind: "after" });
      const { kept } = restore(store, planRestore(store, id));
      assert.deepEqual(kept, [{ path: "data.bin", why: "the checkpoint left it out" }]);
      assert.equal(readFileSync(file, "utf8"), "small\n");
    });
  });

  it("is finished at the next start from whichever step it ended at", () => {
    class Stopped extends Error {}
    for (let stop = 1; ; stop += STEPS) {
      let isComplete = false;
      within((root, store) => {
        const next = numbers(4_242);
        for (let n = 0; n < 20; n += 1) edit(root, next, "");
        const { id } = store.take({ kind: "now" });
        const before = withoutGit(root);
        for (let n = 0; n < 20; n += 1) edit(root, next, "");
        store.take({ kind: "after" });
        const now = withoutGit(root);
        const plan = planRestore(store, id);
        let steps = 0;
        const onStep = (): void => {
          steps += 1;
          if (steps === stop) throw new Stopped();
        };
        try {
          restore(store, plan, { onStep });
          isComplete = true;
        } catch (error) {
          if (!(error instanceof Stopped)) throw error;
          assert.equal(finishInterrupted(store).length, 1);
        }
        assert.deepEqual(finishInterrupted(store), []);
        assert.deepEqual(withoutGit(root), before, `step ${stop}`);
        restore(store, planRestore(store, plan.from));
        assert.deepEqual(withoutGit(root), now, `step ${stop}, undone`);
      });
      if (isComplete) return;
    }
  });
});
