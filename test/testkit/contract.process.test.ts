import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT, runCommand } from "../../scripts/command.ts";
import { longTest } from "../runner/long-tests.ts";

interface Report {
  rows: { id: string; wanted: string; proof?: { by: string; types: string[]; test: string } }[];
  gaps: string[];
  testsPassed: boolean;
}

const DEADLINE_MS = 60_000;

function contract(...args: string[]): ReturnType<typeof runCommand> {
  const env = { ...process.env };
  // Set for the children of a test runner, it makes a second runner report to the first.
  delete env["NODE_TEST_CONTEXT"];
  return runCommand(process.execPath, [join(ROOT, "scripts/contract.ts"), ...args], {
    env,
    deadlineMs: DEADLINE_MS,
  });
}

longTest(
  "the contract table separates proven members from declared ones, and fails for the latter",
  async () => {
    const { code, stdout, stderr } = await contract("--json", "test/testkit/one-call.ts");
    assert.equal(code, 1, stderr);
    const report = JSON.parse(stdout) as Report;
    assert.equal(report.testsPassed, true);
    const proven = report.rows.filter(({ proof }) => proof);
    assert.deepEqual(
      proven.map(({ id, wanted, proof }) => [id, wanted, ...(proof?.types ?? [])]),
      [
        ["assemble", "call", "function"],
        ["assemble(params).sessionId", "set", "string"],
        ["assemble(params).messages", "set", "list"],
        ["assemble → estimatedTokens", "read", "number"],
      ],
    );
    assert.ok(proven.every(({ proof }) => proof?.test === "test/testkit/one-call.ts: assembles once"));
    assert.equal(report.gaps.length, report.rows.length - proven.length);
  },
);

test("the contract table for people ends with the gaps by name and the totals", async () => {
  const { code, stdout } = await contract("test/testkit/one-call.ts");
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^assemble\(params\)\.sessionId +set by the host +string +test\/testkit\/one-call\.ts: assembles once$/m,
  );
  assert.match(stdout, /^ {2}engine: commitTurn \(call\)$/m);
  assert.match(stdout, /\n4 of \d+ members and fields proven, \d+ only declared\n$/);
});
