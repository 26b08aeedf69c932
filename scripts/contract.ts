/**
 * `npm run contract [-- --json] [FILE…]`: every member and field of the contract of engines, memories and hooks, who
 * calls, sets or reads it, and a test that proves it, recorded while the tests run (`test/testkit/recorder.ts`).
 * Ends with 1 when something is only declared, or a test fails. The files are test files; default all of `test/turn`
 * that start no processes.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { ContractRecord } from "../test/testkit/recorder.ts";
import { ROOT } from "./command.ts";
import { declaredContract, type Declared, type DeclaredRow } from "./contract-declared.ts";
import { filesUnder } from "./source-files.ts";
import { runTestJob, type TestOutcome } from "./test-job.ts";
import { testPlaces } from "./test-places.ts";

/** Timeout without any test that starts or ends, ms. */
const STALL_MS = 5 * 60_000;
const FOLDER = "test/turn";

interface Row extends DeclaredRow {
  proof?: { by: string; types: string[]; test: string };
}

interface TestRun {
  records: ContractRecord[];
  /** Lines about tests that failed, their names last; none where all passed. */
  failures: string[];
}

function defaultFiles(): string[] {
  return filesUnder(ROOT, FOLDER, ".test.ts").filter((file) => !file.endsWith(".process.test.ts"));
}

async function runTests(files: readonly string[]): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-contract-"));
  // Files that start processes share nothing with each other; the others run in one process, as in `npm test`.
  const isolated = files.some((file) => file.endsWith(".process.test.ts"));
  const jobs = isolated
    ? files.map((file) => ({ title: file, files: [file] }))
    : [{ title: "tests of the contract", files: [...files] }];
  const env = { ...process.env, ...testPlaces(), PAGURUS_CONTRACT_RECORD: folder };
  try {
    const outcomes: TestOutcome[] = [];
    for (const job of jobs) {
      const outcome = await runTestJob(job, { flags: [], env, stallMs: STALL_MS });
      outcomes.push(outcome);
      if (outcome.interrupted) break;
    }
    const records = readdirSync(folder).flatMap((name) =>
      readFileSync(join(folder, name), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ContractRecord),
    );
    return { records, failures: outcomes.flatMap(failuresOf) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The failed tests of a job, each with its output above, and the reason where the job did not end well. */
function failuresOf({ failures, problem, output }: TestOutcome): string[] {
  const all = [
    ...failures.map((failure) => `failed: ${failure}`),
    ...(problem === undefined ? [] : [problem]),
  ];
  return all.length === 0 ? [] : [output.trim(), ...all];
}

/** Each declared row with the first record that proves it. */
function proven(declared: Declared, records: readonly ContractRecord[]): Row[] {
  const found = new Map<string, ContractRecord[]>();
  for (const record of records) {
    // Engines and memories of plugins record on the same surface.
    const id = declared.locate(record.surface, record.path);
    const key = `${record.surface} ${id} ${record.event}`;
    if (id !== undefined) found.set(key, [...(found.get(key) ?? []), record]);
  }
  return declared.rows.map((row) => {
    const [first, ...rest] = found.get(`${row.surface} ${row.id} ${row.wanted}`) ?? [];
    if (!first) return row;
    const types = [...new Set([first, ...rest].map(({ type }) => type))].toSorted();
    return { ...row, proof: { by: first.by, types, test: first.test } };
  });
}

const VERBS = { call: "called by", answer: "answered by", set: "set by", read: "read by" } as const;

function printTable(rows: readonly Row[]): void {
  const cells = rows.map(({ id, wanted, proof }) =>
    proof
      ? [id, `${VERBS[wanted]} ${proof.by}`, proof.types.join(", "), proof.test]
      : [id, "only declared", "", ""],
  );
  const all = [["member or field", "by", "type", "proven by"], ...cells];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  for (const line of all)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { json: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const run = await runTests(positionals.length > 0 ? positionals : defaultFiles());
  const rows = proven(declaredContract(ROOT), run.records);
  const gaps = rows.filter(({ proof }) => !proof);
  process.exitCode = gaps.length === 0 && run.failures.length === 0 ? 0 : 1;
  if (values.json) {
    console.log(
      JSON.stringify(
        { rows, gaps: gaps.map(({ id }) => id), testsPassed: run.failures.length === 0 },
        null,
        2,
      ),
    );
    return;
  }
  for (const surface of ["engine", "memory", "hooks"] as const) {
    console.log(`\n# ${surface}`);
    printTable(rows.filter((row) => row.surface === surface));
  }
  if (gaps.length > 0) console.log("\nOnly declared:");
  for (const { surface, id, wanted } of gaps) console.log(`  ${surface}: ${id} (${wanted})`);
  console.log(
    `\n${rows.length - gaps.length} of ${rows.length} members and fields proven, ${gaps.length} only declared`,
  );
  for (const line of run.failures) console.log(line);
}

await main();
