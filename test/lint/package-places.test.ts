/** The walls of packages: what Node.js itself refuses, and what the lint reports by name. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { checkPackages } from "../../scripts/package-places.ts";
import { packageNames } from "../../scripts/source-files.ts";

describe("the walls of packages", () => {
  let copy = "";
  before(() => {
    copy = mkdtempSync(join(tmpdir(), "pagurus-packages-"));
    for (const name of ["packages", "package.json", "docs/architecture/layers.md"])
      cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  /** The problems that one more file, or one changed manifest, causes. */
  function planted(file: string, text: string): string[] {
    const path = join(copy, file);
    mkdirSync(dirname(path), { recursive: true });
    const earlier = file.endsWith(".json") ? readFileSync(path, "utf8") : undefined;
    writeFileSync(path, text);
    const found = checkPackages(copy);
    if (earlier === undefined) rmSync(path);
    else writeFileSync(path, earlier);
    return found;
  }

  function manifest(name: string): { exports: Record<string, string>; dependencies: Record<string, string> } {
    return JSON.parse(readFileSync(join(copy, `packages/${name}/package.json`), "utf8")) as {
      exports: Record<string, string>;
      dependencies: Record<string, string>;
    };
  }

  it("hold in the project as it is", () => {
    assert.ok(packageNames(copy).length > 15);
    assert.deepEqual(checkPackages(copy), []);
  });

  it("refuse in Node.js a module that a package does not export", async () => {
    const hidden: string = "@pagurus/lossless/lossless-engine";
    await assert.rejects(import(hidden), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" });
  });

  it("report an import that the manifest does not name", () => {
    assert.deepEqual(planted("packages/core/src/planted.ts", 'import "@pagurus/host/turn/turn-host";\n'), [
      "packages/core/package.json does not name @pagurus/host",
      "packages/host/package.json does not export ./turn/turn-host, which another package imports",
    ]);
  });

  it("report a file of another package that is imported by its place", () => {
    assert.deepEqual(planted("packages/core/src/planted.ts", 'import "../../host/src/turn/turn.ts";\n'), [
      "packages/core/src/planted.ts imports ../../host/src/turn/turn.ts, which is outside packages/core; name the package",
    ]);
  });

  it("report an export that no other package imports, and a named package that none of its files imports", () => {
    const changed = manifest("doctor");
    changed.exports["./planted"] = "./src/planted.ts";
    changed.dependencies["@pagurus/testkit"] = "*";
    assert.deepEqual(planted("packages/doctor/package.json", JSON.stringify(changed)), [
      "docs/architecture/layers.md: doctor imports contract, core, host, importers, inside, keeper, testkit, not contract, core, host, importers, inside, keeper",
      "packages/doctor/package.json exports ./planted, which no other package imports",
      "packages/doctor imports nothing of @pagurus/testkit",
    ]);
  });

  it("report packages that import each other, with the way", () => {
    const changed = manifest("core");
    changed.dependencies["@pagurus/doctor"] = "*";
    const found = planted("packages/core/package.json", JSON.stringify(changed));
    assert.ok(found.includes("packages import each other: core → doctor → core"), found.join("\n"));
  });

  it("report a package of others that is not installed with the program", () => {
    const changed = manifest("core");
    changed.dependencies["left-pad"] = "*";
    assert.deepEqual(planted("packages/core/package.json", JSON.stringify(changed)), [
      "packages/core imports nothing of left-pad",
      "package.json does not install left-pad, which packages/core imports",
    ]);
  });
});
