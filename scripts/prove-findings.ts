/**
 * `npm run prove -- strangers.1`: runs each test whose title names a finding and prints the table of findings. Ends with 1
 * when a finding has neither a test nor a reason, or one of its tests fails.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./command.ts";
import { FINDINGS, findingsIn } from "./findings.ts";
import { filesUnder } from "./source-files.ts";
import { runTestJob, type TestOutcome } from "./test-job.ts";

const STALL_MS = 10 * 60_000;

interface Row {
  file: string;
  name: string;
  passed: boolean;
}

function filesWithFindings(): string[] {
  return filesUnder(ROOT, "test", ".test.ts").filter((file) =>
    readFileSync(join(ROOT, file), "utf8").includes("(finding"),
  );
}

async function runFiles(files: readonly string[]): Promise<TestOutcome[]> {
  const outcomes: TestOutcome[] = [];
  const flags = ["--test-name-pattern=\\(findings? [A-G]"];
  // The short form of each; the full lengths are the other lines.
  const { PAGURUS_PROVE: _, ...env } = process.env;
  for (const file of files) {
    const job = { title: file, files: [file] };
    const outcome = await runTestJob(job, {
      flags,
      env: { ...env, PAGURUS_REAL: "1" },
      stallMs: STALL_MS,
    });
    outcomes.push(outcome);
    if (outcome.interrupted) break;
  }
  return outcomes;
}

function rowsOf(outcomes: readonly TestOutcome[]): Map<string, Row[]> {
  const rows = new Map<string, Row[]>();
  for (const { job, tests } of outcomes) {
    for (const { name, type } of tests) {
      for (const id of findingsIn(name)) {
        const row = { file: job.title, name, passed: type === "pass" };
        rows.set(id, [...(rows.get(id) ?? []), row]);
      }
    }
  }
  return rows;
}

/** Prints the table; returns the findings that are not shown. */
function printTable(rows: ReadonlyMap<string, readonly Row[]>): string[] {
  const open: string[] = [];
  for (const { id, what, reason } of FINDINGS) {
    const tests = rows.get(id) ?? [];
    console.log(`${id.padEnd(4)} ${what}`);
    for (const { file, name, passed } of tests)
      console.log(`     ${passed ? "ok  " : "FAIL"} ${file}: ${name}`);
    if (reason !== undefined) console.log(`     decided otherwise: ${reason}`);
    if (tests.length === 0 && reason === undefined) console.log("     NO TEST");
    if (tests.some(({ passed }) => !passed) || (tests.length === 0 && reason === undefined)) open.push(id);
  }
  return open;
}

const outcomes = await runFiles(filesWithFindings());
const problems = outcomes.flatMap(({ problem }) => problem ?? []);
const rows = rowsOf(outcomes);
const open = printTable(rows);
const unknown = [...rows.keys()].filter((id) => !FINDINGS.some((finding) => finding.id === id));
for (const problem of problems) console.log(problem);
if (unknown.length > 0)
  console.log(`Test titles name findings that are not in the list: ${unknown.join(", ")}`);
const count = [...rows.values()].reduce((sum, tests) => sum + tests.length, 0);
console.log(
  `${FINDINGS.length} findings, ${count} tests, ${open.length} findings not shown${open.length > 0 ? `: ${open.join(", ")}` : ""}`,
);
process.exitCode = open.length + problems.length + unknown.length === 0 ? 0 : 1;
