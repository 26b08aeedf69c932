import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { checkLayerPlaces } from "../../scripts/layer-places.ts";

/** Copies the folders of a folder, without their files. */
function copyFolders(from: string, to: string, depth: number): void {
  mkdirSync(to, { recursive: true });
  if (depth === 0) return;
  for (const entry of readdirSync(from, { withFileTypes: true }))
    if (entry.isDirectory()) copyFolders(join(from, entry.name), join(to, entry.name), depth - 1);
}

describe("the rules of folders", () => {
  let root = "";
  before(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-layers-"));
    copyFolders(join(ROOT, "packages"), join(root, "packages"), 5);
    for (const kind of ["engines", "runtimes", "memories"])
      cpSync(join(ROOT, "test", kind), join(root, "test", kind), { recursive: true });
    cpSync(join(ROOT, ".dependency-cruiser.cjs"), join(root, ".dependency-cruiser.cjs"));
    cpSync(join(ROOT, "docs/architecture/layers.md"), join(root, "docs/architecture/layers.md"));
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  it("exist for each folder of a package that has several, with a row of the page", () => {
    assert.deepEqual(checkLayerPlaces(root), []);
  });

  it("are missed by name for a new folder of the turn", () => {
    mkdirSync(join(root, "packages/host/src/turn/planted"));
    try {
      assert.deepEqual(checkLayerPlaces(root), [
        "packages/host/src/turn/planted/ has no rule in .dependency-cruiser.cjs",
        "packages/host/src/turn/planted/ has no row in docs/architecture/layers.md",
      ]);
    } finally {
      rmSync(join(root, "packages/host/src/turn/planted"), { recursive: true });
    }
  });

  it("that name a folder which is gone are reported", () => {
    rmSync(join(root, "packages/host/src/turn/fragments"), { recursive: true });
    try {
      assert.deepEqual(checkLayerPlaces(root), [
        ".dependency-cruiser.cjs or docs/architecture/layers.md names packages/host/src/turn/fragments/, which does not exist",
      ]);
    } finally {
      mkdirSync(join(root, "packages/host/src/turn/fragments"));
    }
  });
});
