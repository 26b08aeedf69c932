import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { repeatRuns, type RunKind, type RunOutcome } from "../../scripts/repeated-runs.ts";

/** Notes each run; the one whose number is its argument fails. */
const PROGRAM = `
const { appendFileSync, readFileSync } = require("node:fs");
appendFileSync("runs", "x");
const number = readFileSync("runs", "utf8").length;
const isBad = String(number) === process.argv[2];
if (isBad) console.log("failed: test/a.test.ts: planted");
console.log(isBad ? "1 passed, 1 failed" : "2 passed, 0 failed");
process.exitCode = isBad ? 1 : 0;
`;
/** Longest pause between two of its looks at the time, ms. */
const GAPS = `
let last = performance.now(), longest = 0;
const end = last + 2_000;
while (last < end) {
  const now = performance.now();
  longest = Math.max(longest, now - last);
  last = now;
}
console.log(Math.round(longest));
`;

describe("repeated runs", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-runs-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function run(
    name: string,
    source: string,
    { bad = "", times }: { bad?: string; times: Record<RunKind, number> },
  ): Promise<RunOutcome[]> {
    const program = join(folder, `${name}.cjs`);
    writeFileSync(program, `process.chdir(${JSON.stringify(folder)});${source}`);
    const file = join(folder, `${name}.jsonl`);
    const args = [program, bad];
    return repeatRuns({ of: name, command: process.execPath, args, times, file, report: () => undefined });
  }

  it("count and name each failure, and continue after those that are kept", async () => {
    const first = await run("count", PROGRAM, { bad: "2", times: { quiet: 2, stopped: 0 } });
    assert.deepEqual(
      first.map(({ code, last, failures }) => [code, last, failures]),
      [
        [0, "2 passed, 0 failed", []],
        [1, "1 passed, 1 failed", ["failed: test/a.test.ts: planted"]],
      ],
    );
    const all = await run("count", PROGRAM, { times: { quiet: 3, stopped: 1 } });
    assert.deepEqual(
      all.map(({ kind, code }) => [kind, code]),
      [
        ["quiet", 0],
        ["quiet", 1],
        ["quiet", 0],
        ["stopped", 0],
      ],
    );
    assert.equal(readFileSync(join(folder, "runs"), "utf8").length, 4, "none ran twice");
  });

  it("stop the processes for a part of each second", async () => {
    const [outcome] = await run("gaps", GAPS, { times: { quiet: 0, stopped: 1 } });
    assert.ok(Number(outcome?.last) >= 400, outcome?.last);
  });
});
