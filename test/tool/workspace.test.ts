import { isInside } from "../../packages/core/src/platform/inside.ts";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync, existsSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { openWorkspace } from "../../packages/host/src/tool/places/workspace-boundary.ts";
import { fixture, temporaryFolder, textOf } from "./fixture.ts";
import { runs } from "../runner/short-form.ts";

test("a path whose dots lead outside is outside, one that returns is inside", (t) => {
  const root = temporaryFolder(t);
  const workspace = openWorkspace(root);
  assert.equal(workspace.locate("../x").inside, false);
  assert.equal(workspace.locate("a/../../x").inside, false);
  assert.deepEqual(workspace.locate("a/../b.txt"), {
    path: join(root, "b.txt"),
    shown: "b.txt",
    inside: true,
  });
  assert.equal(workspace.locate(".").shown, ".");
  assert.equal(workspace.locate("~/x").inside, false);
});

test("a folder whose name begins like the workspace is outside", (t) => {
  const base = temporaryFolder(t);
  mkdirSync(join(base, "work"));
  mkdirSync(join(base, "work-other"));
  assert.equal(openWorkspace(join(base, "work")).locate("../work-other/x").inside, false);
  assert.equal(openWorkspace(join(base, "work")).locate("..name").inside, true);
});

test("links are followed: to files, folders, through several links, and to what does not exist yet", (t) => {
  const base = temporaryFolder(t);
  const root = join(base, "root");
  mkdirSync(join(root, "inner"), { recursive: true });
  mkdirSync(join(base, "outer"));
  symlinkSync(join(base, "outer"), join(root, "folder-link"));
  symlinkSync("folder-link", join(root, "second-link"));
  symlinkSync(join(base, "outer", "new.txt"), join(root, "dangling"));
  symlinkSync("inner/later.txt", join(root, "dangling-inside"));
  symlinkSync("loop", join(root, "loop"));
  const workspace = openWorkspace(root);
  for (const path of ["folder-link", "folder-link/a/b", "second-link/x", "dangling"]) {
    assert.equal(workspace.locate(path).inside, false, path);
  }
  assert.equal(workspace.locate("dangling-inside").path, join(root, "inner", "later.txt"));
  assert.throws(() => workspace.locate("loop"), /cannot be resolved|too many/);
  assert.throws(() => workspace.locate("a\0b"), /NUL/);
});

test("a workspace that is itself reached by a link is its real folder", (t) => {
  const base = temporaryFolder(t);
  mkdirSync(join(base, "real"));
  symlinkSync("real", join(base, "link"));
  const workspace = openWorkspace(join(base, "link"));
  assert.equal(workspace.root, join(base, "real"));
  assert.equal(workspace.locate(join(base, "link", "x")).inside, true);
});

test("property: a path is inside exactly if its relative path from the root never begins with two dots", (t) => {
  const root = temporaryFolder(t);
  const workspace = openWorkspace(root);
  const part = fc.oneof(
    fc.constantFrom("..", ".", "a", "b c", "..a", "a..", "...", ""),
    fc.string({ maxLength: 8 }).filter((text) => !/[\0/]/.test(text)),
  );
  const path = fc.tuple(fc.boolean(), fc.array(part, { maxLength: 8 }));
  fc.assert(
    fc.property(path, ([absolute, parts]) => {
      const given = (absolute ? "/" : "./") + parts.join("/");
      const at = workspace.locate(given);
      const way = relative(root, at.path);
      assert.equal(at.inside, way !== ".." && !way.startsWith("../"));
      assert.equal(isAbsolute(at.path), true);
      assert.equal(isInside(root, at.path), at.inside);
      // The result of resolving a path is stable.
      assert.deepEqual(workspace.locate(at.path), at);
    }),
    { numRuns: runs(500) },
  );
});

test("writing through a link that leaves the workspace is refused, also in mode auto", async (t) => {
  const { root, base, call } = fixture(t);
  const outside = join(base, "outside.txt");
  writeFileSync(outside, "old");
  mkdirSync(join(base, "elsewhere"));
  symlinkSync(outside, join(root, "file-link"));
  symlinkSync(join(base, "elsewhere"), join(root, "folder-link"));
  symlinkSync(join(base, "fresh.txt"), join(root, "dangling"));
  for (const path of ["file-link", "folder-link/new.txt", "dangling", outside, "../outside.txt"]) {
    const outcome = await call("write", { path, content: "new" });
    assert.equal(outcome.isError, true, path);
    assert.match(textOf(outcome), /outside the workspace/);
  }
  const edited = await call("edit", { path: "file-link", old_text: "old", new_text: "new" });
  assert.equal(edited.isError, true);
  assert.equal(readFileSync(outside, "utf8"), "old");
  assert.equal(existsSync(join(base, "fresh.txt")), false);
  assert.equal(existsSync(join(base, "elsewhere", "new.txt")), false);
});

test("a link inside the workspace is written through, and stays a link", async (t) => {
  const { root, write, call } = fixture(t);
  write("real.txt", "old");
  symlinkSync("real.txt", join(root, "link.txt"));
  assert.equal((await call("write", { path: "link.txt", content: "new" })).isError, false);
  assert.equal(readFileSync(join(root, "real.txt"), "utf8"), "new");
  assert.equal(readFileSync(join(root, "link.txt"), "utf8"), "new");
});
