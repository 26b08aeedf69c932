import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { runTestJob, type TestOutcome } from "../../scripts/test-job.ts";
import { longSuite } from "../runner/long-tests.ts";

longSuite("a job of the test runner", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-runner-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function run(body: string, stallMs: number): Promise<TestOutcome> {
    const file = join(folder, "made.test.mjs");
    writeFileSync(file, `import { it } from "node:test";\nimport assert from "node:assert";\n${body}`);
    return await runTestJob({ title: "made", files: [file] }, { flags: [], env: process.env, stallMs });
  }

  it("is stopped when a test makes no progress, and the report names that test (finding G1)", async () => {
    const outcome = await run(
      `it("is quick", () => {}); it("hangs", () => new Promise(() => setInterval(() => {}, 1000)));`,
      5_000,
    );
    assert.equal(outcome.passed, 1);
    assert.match(
      outcome.problem ?? "",
      /^made stopped after 5 s without progress \(running: .*made\.test\.mjs: hangs\)$/,
    );
  });

  it("reports each failed test by name, counts the others and shows the output (finding G3)", async () => {
    const outcome = await run(
      `it("holds", () => {}); it("fails", () => assert.equal(1, 2)); it("is left out", { skip: true }, () => {});`,
      60_000,
    );
    assert.deepEqual([outcome.passed, outcome.failed, outcome.skipped], [1, 1, 1]);
    assert.match(outcome.failures.join(), /made\.test\.mjs: fails$/);
    assert.match(outcome.output, /1 == 2/);
    assert.equal(outcome.problem, undefined);
  });

  it("reports a process that ends before its tests do", async () => {
    const outcome = await run(`it("ends the process", () => process.exit(3));`, 60_000);
    assert.match(outcome.problem ?? "", /^made ended with 3 before it could report$/);
  });
});
