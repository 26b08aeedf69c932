import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runCommand } from "../../scripts/command.ts";
import { longTest } from "../runner/long-tests.ts";

longTest(
  "npm ci prints no warning about a node that is older than the package needs (finding D14)",
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "pagurus-npm-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    copyFileSync(join(ROOT, ".npmrc"), join(folder, ".npmrc"));
    const manifest = { name: "older", version: "1.0.0", engines: { node: ">=999" } };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    const lock = { name: "older", version: "1.0.0", lockfileVersion: 3, packages: { "": manifest } };
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
    // Settings that `npm test` passes to its children would override those of the file.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^npm_config_(loglevel|userconfig)$/i.test(name)),
    );
    const result = await runCommand("npm", ["ci", "--offline"], { cwd: folder, env });
    assert.equal(result.code, 0, result.stderr);
    assert.doesNotMatch(result.stdout + result.stderr, /EBADENGINE/);
  },
);
