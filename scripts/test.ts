/**
 * `npm test [-- FILTER… --test-name-pattern=…]`: the unit tests in one process and, beside it, the tests that start
 * processes, each file in its own; what the unit tests say comes when they are over. A filter is a part of a test file's
 * path. Ends with `N passed, N failed`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runCommand } from "./command.ts";
import { filesUnder } from "./source-files.ts";
import type { TestTotals } from "./test-reporter.ts";

/** Of a run without the real programs; with them it may take twice as long. */
const MINUTES = process.env["PAGURUS_REAL"] === "1" ? 20 : 10;
const DEADLINE_MS = MINUTES * 60_000;
const REAL = "test/real/";

interface Part {
  title: string;
  files: string[];
  flags: string[];
}

interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
  problem?: string;
}

function plan(filters: readonly string[]): Part[] {
  const withReal = process.env["PAGURUS_REAL"] === "1";
  const wanted = filesUnder(ROOT, "test", ".test.ts").filter(
    (file) =>
      (withReal || !file.startsWith(REAL)) &&
      (filters.length === 0 || filters.some((filter) => file.includes(filter.replace(/^\.\//, "")))),
  );
  const needsProcesses = (file: string): boolean => file.endsWith(".process.test.ts");
  return [
    {
      title: "unit tests",
      files: wanted.filter((file) => !needsProcesses(file)),
      flags: ["--test-isolation=none"],
    },
    {
      title: "process tests",
      files: wanted.filter(needsProcesses),
      flags: ["--test-concurrency=2"],
    },
  ].filter((part) => part.files.length > 0);
}

function readTotals(file: string): TestTotals | undefined {
  const line = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").at(-1) : undefined;
  return line ? (JSON.parse(line) as TestTotals) : undefined;
}

/** `shown`: told as it goes, not when it is over. */
async function runPart(part: Part, flags: readonly string[], shown: boolean): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-test-"));
  const totalsFile = join(folder, "totals.jsonl");
  try {
    const title = `\n# ${part.title}: ${part.files.length} files`;
    if (shown) console.log(title);
    const args = [
      "--test",
      ...part.flags,
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      `--test-reporter=${new URL("./test-reporter.ts", import.meta.url).href}`,
      `--test-reporter-destination=${totalsFile}`,
      ...flags,
      ...part.files,
    ];
    const output = shown ? "inherit" : "capture";
    const { code, stdout, stderr } = await runCommand(process.execPath, args, {
      output,
      deadlineMs: DEADLINE_MS,
    });
    if (!shown) console.log(`${title}\n${stdout}${stderr}`);
    const totals = readTotals(totalsFile);
    const outcome: Outcome = {
      passed: totals?.passed ?? 0,
      failed: (totals?.failed ?? 0) + (totals?.cancelled ?? 0),
      skipped: (totals?.skipped ?? 0) + (totals?.todo ?? 0),
    };
    if (code === 124) {
      outcome.problem = `The ${part.title} were stopped: all tests together have ${MINUTES} minutes.`;
    } else if (!totals) {
      outcome.problem = `The ${part.title} ended with code ${code} before they could report.`;
    } else if (code !== 0 && outcome.failed === 0) {
      outcome.problem = `The ${part.title} ended with code ${code} although no test failed.`;
    }
    return outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The tests against real harness binaries are left out without them; say so where nobody can miss it. */
function leftOut(): string | undefined {
  if (process.env["PAGURUS_REAL"] === "1") return undefined;
  const files = filesUnder(ROOT, REAL, ".test.ts");
  if (files.length === 0) return undefined;
  return `LEFT OUT: ${files.length} files against real harness binaries; run \`npm run setup:real\`, then PAGURUS_REAL=1 npm test.`;
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const parts = plan(args.filter((arg) => !arg.startsWith("-")));
  const flags = args.filter((arg) => arg.startsWith("-"));
  const outcomes = await Promise.all(
    parts.map((part, index) => runPart(part, flags, index === parts.length - 1)),
  );
  const sum = (field: "passed" | "failed" | "skipped"): number =>
    outcomes.reduce((total, outcome) => total + outcome[field], 0);
  const problems = outcomes.flatMap((outcome) => outcome.problem ?? []);
  if (parts.length === 0) problems.push(`No test file matches ${args.join(" ") || "test/**/*.test.ts"}.`);
  else if (sum("passed") + sum("failed") === 0) problems.push("No test ran.");
  console.log("");
  const left = leftOut();
  if (left !== undefined) console.log(left);
  if (sum("skipped") > 0) console.log(`${sum("skipped")} skipped`);
  for (const problem of problems) console.log(problem);
  console.log(`${sum("passed")} passed, ${sum("failed") + problems.length} failed`);
  process.exitCode = sum("failed") + problems.length === 0 ? 0 : 1;
}

await main();
