import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { longTest } from "../runner/long-tests.ts";

const MAIN = join(import.meta.dirname, "..", "..", "bench", "main.ts");

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function bench(...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

interface Report {
  name: string;
  machine: Record<string, unknown>;
  rows: Record<string, unknown>[];
}

longTest("--json prints one object with name, machine and rows, and nothing else", async () => {
  const { code, stdout } = await bench("tokens", "--json", "--quick");
  assert.equal(code, 0);
  assert.equal(stdout.trimEnd().split("\n").length, 1);
  const report = JSON.parse(stdout) as Report;
  assert.deepEqual(Object.keys(report), ["name", "machine", "rows"]);
  assert.equal(report.name, "tokens");
  assert.deepEqual(Object.keys(report.machine), ["cpu", "cores", "memoryGiB", "node", "platform"]);
  assert.ok(report.rows.length > 0);
  for (const row of report.rows) {
    assert.equal(typeof row["measure"], "string");
    assert.ok(Number.isFinite(row["value"]));
    assert.equal(typeof row["unit"], "string");
    assert.equal("target" in row, "ok" in row);
    assert.equal("peer" in row, "ratio" in row);
  }
  for (const kind of ["prose", "code", "pretty JSON", "minified JSON", "Chinese", "Markdown"]) {
    const error = report.rows.find(({ measure }) => measure === `${kind}: error`);
    assert.equal(error?.["ok"], true, `${kind}: ${String(error?.["value"])} %`);
    assert.ok(report.rows.some(({ measure }) => measure === `${kind}: speed`));
  }
});

longTest("a name or option that does not exist ends with one sentence and exit code 2", async () => {
  for (const args of [
    ["nothing"],
    [],
    ["tokens", "tokens"],
    ["tokens", "--fast"],
    ["toString"],
    ["tokens", "--only", "prose"],
  ]) {
    const { code, stdout, stderr } = await bench(...args);
    assert.equal(code, 2, args.join(" "));
    assert.equal(stdout, "");
    assert.equal(stderr.trimEnd().split("\n").length, 1);
  }
});
