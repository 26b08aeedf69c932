import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { changeList } from "../../packages/host/src/tool/changes/change-list.ts";
import { createChangeGuard } from "../../packages/host/src/tool/changes/change-guard.ts";
import { lookAt } from "../../packages/host/src/tool/changes/manifest.ts";
import { sourceFiles } from "../../scripts/source-files.ts";
import { readFileSync } from "node:fs";
import { fixture } from "./fixture.ts";

test("a change list has new, removed and replaced names and changed places, and nothing of what stayed", async (t) => {
  const { root, write } = fixture(t);
  for (const path of ["same/a", "old/b", ".envrc", "gone"]) write(path, "x");
  const options = { root, closed: [], programs: [], settings: [] };
  const before = await lookAt(options);
  write("old/c", "x");
  mkdirSync(join(root, "new", "deep"), { recursive: true });
  writeFileSync(join(root, ".envrc"), "longer");
  rmSync(join(root, "gone"));
  const after = await lookAt(options, before);
  const changes = changeList(before, after).filter(({ change }) => change !== "entries");
  assert.deepEqual(
    changes.map(({ path, change }) => `${change} ${path.slice(root.length + 1)}`),
    ["content .envrc", "removed gone", "added new", "added new/deep", "added old/c"],
  );
  assert.ok(!changes.some(({ path }) => path.includes("same")));
});

function guardOf(root: string, home: string, limits: { folders: number; places: number; bytes: number }) {
  return createChangeGuard({
    root,
    home,
    closed: [],
    env: {},
    isAllowed: () => false,
    cache: new Map(),
    limits,
  });
}

test("a workspace beyond the limits of a look gets no command", async (t) => {
  const { root, base, write } = fixture(t);
  for (let at = 0; at < 20; at += 1) write(`f${at}/a`, "x");
  const guard = guardOf(root, join(base, "home"), { folders: 10, places: 100, bytes: 1_000 });
  await assert.rejects(guard.start("true"), /no command is run/);
});

test("a command that makes more than a look can hold loses its new folders, also what it wrote deeper", async (t) => {
  const { root, base, write } = fixture(t);
  write("a/b/c/d/e/x", "x");
  const guard = guardOf(root, join(base, "home"), { folders: 30, places: 20, bytes: 1_000 });
  const running = await guard.start("flood");
  for (let at = 0; at < 200; at += 1) write(`flood${at}/x`, "x");
  for (let at = 0; at < 50; at += 1) write(`.z${at}`, "x");
  write("a/b/c/d/e/.envrc", "evil");
  await running.end();
  const { placed, full } = await lookAt({ root, closed: [], programs: [], settings: [] });
  assert.equal(full, false);
  assert.deepEqual([...placed.keys()], []);
});

test("the host runs no git, which would start programs that a repository in the workspace names", () => {
  const starts = /(?:spawn\w*|exec\w*|runCommand|findProgram|onPath)\(\s*["'`]git["'`]/;
  const found = sourceFiles(process.cwd()).filter((file) => starts.test(readFileSync(file, "utf8")));
  assert.deepEqual(found, []);
});
