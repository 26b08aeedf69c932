/** Processes for the code of plugins, two at once. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { EXIT_INTERRUPTED } from "../../packages/cli/src/cli-failure.ts";
import { runApart } from "../../packages/cli/src/engines/apart.ts";
import { fakeCli } from "./fake-cli.ts";

/** Begins its job and ignores its abort. */
const ENDLESS = `process.on("message", ({ type }) => { if (type === "run") process.send({ type: "begun" }); });`;

test("a second interrupt leaves no folder of any process", async () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-apart-"));
  const file = join(root, "endless.mjs");
  const scratch = join(root, "tmp");
  writeFileSync(file, ENDLESS);
  mkdirSync(scratch);
  const base = fakeCli({ input: "", env: { TMPDIR: scratch, PATH: process.env["PATH"] } });
  const atExit: string[][] = [];
  const cli = { ...base, exit: () => void atExit.push(readdirSync(scratch)) };
  try {
    const begun = Promise.withResolvers<void>();
    let count = 0;
    const onBegun = (): void => {
      count += 1;
      if (count === 2) begun.resolve();
    };
    const runs = [1, 2].map(() =>
      runApart<object, { type: string }>(cli, {
        module: pathToFileURL(file),
        what: "test",
        make: () => ({}),
        news: onBegun,
      }),
    );
    await begun.promise;
    assert.equal(readdirSync(scratch).length, 2);
    base.interrupt();
    base.interrupt();
    assert.deepEqual(await Promise.all(runs), [EXIT_INTERRUPTED, EXIT_INTERRUPTED]);
    assert.deepEqual(atExit, [[], []]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
