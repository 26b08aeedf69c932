/**
 * `npm test [-- FILTER… --all --changed=COMMIT --times --test-name-pattern=…]`: the unit tests in a process or more for each folder of `test/`, the tests that
 * start processes in one for a few files, or for each file in proofs and against the real programs. A filter is a part of a test file's path. There is no limit for the whole, which a busy
 * machine would exceed: a file that makes no progress is stopped and reported. Ends with `N passed, N failed`, also when a
 * signal stops it. `--changed=main` runs only what the work since that commit can break. `--all` also runs the long tests, `--times` lists what used the most CPU.
 * `--repeat-failed` runs a file that failed once more, alone.
 */
import { changedTests } from "./changed-tests.ts";
import { ROOT } from "./command.ts";
import { repeatFailed, type RepeatedOutcome } from "./repeated-failures.ts";
import { filesUnder } from "./source-files.ts";
import { runTestJob, type TestJob, type TestOutcome } from "./test-job.ts";
import { testPlaces } from "./test-places.ts";
import { buildTestProgram } from "./test-program.ts";
import { FIXED_SLOTS, inSlots, SLOTS } from "./test-slots.ts";
import { printTimes } from "./test-times.ts";

/** Longer than the longest single test on a machine that is five times as busy. */
const STALL_MS = 10 * 60_000;
/** Proofs run single tests of an hour. */
const PROVE_STALL_MS = 90 * 60_000;
const TIMES = "--times";
/** Also the tests that `test/runner/long-tests.ts` leaves out. */
const ALL = "--all";
const REPEAT_FAILED = "--repeat-failed";
/** Only the tests that the work since this commit can break. */
const CHANGED = "--changed=";
const REAL = "test/real/";
/**
 * Files to a job, whose process costs a second to start: folders with fewer share one, folders with more are split, as one
 * process that waits for its deadlines would be all that is left at the end.
 */
const UNIT_FILES = { fewest: 12, most: 40 };
/** Folders of which many tests wait for a deadline: their unit tests start first, so that others use the cores meanwhile. */
const WAITING = ["channels", "gateway", "testkit", "turn"];
/** What a test leaves running is ended with its job, so that these are fewer. */
const PROCESS_FILES = { fewest: 6, most: 12 };

/** One job, or several of about the same size; neighbours, which are alike, are in different ones. */
function parts(title: string, files: readonly string[], most: number): TestJob[] {
  const count = Math.ceil(files.length / most);
  return Array.from({ length: count }, (_, part) => ({
    title: count === 1 ? title : `${title}, part ${part + 1} of ${count}`,
    files: files.filter((_file, index) => index % count === part),
  }));
}

/** By folder of `test/`, the largest first; folders with fewer than `fewest` files go together. */
function folderJobs(
  kind: string,
  files: readonly string[],
  size: { fewest: number; most: number },
): TestJob[] {
  const folders = Object.groupBy(files, (file) => file.split("/")[1] ?? "");
  const large = Object.entries(folders).filter(([, each]) => (each?.length ?? 0) >= size.fewest);
  const names = new Set(large.map(([name]) => name));
  const rest = files.filter((file) => !names.has(file.split("/")[1] ?? ""));
  return [
    ...large.flatMap(([name, each]) => parts(`${kind} of test/${name}`, each ?? [], size.most)),
    ...parts(`${kind} of the other folders`, rest, size.most),
  ].toSorted((one, other) => other.files.length - one.files.length);
}

/** The proofs and the tests of real programs take long, and measure memory and processes: each file has its own process. */
function isAlone(file: string): boolean {
  return process.env["PAGURUS_PROVE"] === "1" || file.startsWith(REAL);
}

function plan(filters: readonly string[], only: readonly string[] | undefined): TestJob[] {
  const withReal = process.env["PAGURUS_REAL"] === "1";
  const wanted = filesUnder(ROOT, "test", ".test.ts").filter(
    (file) =>
      (withReal || !file.startsWith(REAL)) &&
      (only === undefined || only.includes(file)) &&
      (filters.length === 0 || filters.some((filter) => file.includes(filter.replace(/^\.\//, "")))),
  );
  const units = wanted.filter((file) => !file.endsWith(".process.test.ts"));
  const waits = ({ files: [file] }: TestJob): boolean => WAITING.includes(file?.split("/")[1] ?? "");
  const processes = wanted.filter((file) => file.endsWith(".process.test.ts"));
  return [
    ...folderJobs("unit tests", units, UNIT_FILES).toSorted(
      (one, other) => Number(waits(other)) - Number(waits(one)),
    ),
    ...folderJobs(
      "process tests",
      processes.filter((file) => !isAlone(file)),
      PROCESS_FILES,
    ),
    ...processes.filter(isAlone).map((file) => ({ title: file, files: [file] })),
  ];
}

/** A figure that a test reports by `context.diagnostic("figure: 3 keys, …")`; proofs print it. */
const FIGURE = /^ℹ figure: (.*)$/gm;

/** One line for a job without failures, its whole output otherwise. */
function report(outcome: TestOutcome): void {
  const { job, passed, failed, seconds, cpuSeconds, problem, output } = outcome;
  const bad = failed > 0 || problem !== undefined;
  if (bad) console.log(output);
  else if (process.env["PAGURUS_PROVE"] === "1")
    for (const [, figure] of output.matchAll(FIGURE)) console.log(`     ${figure}`);
  const files = job.files.length === 1 ? "" : ` (${job.files.length} files)`;
  const end = problem === undefined ? "" : `  ${problem}`;
  console.log(
    `${bad ? "FAIL" : "ok  "} ${job.title}${files}: ${passed} passed, ${failed} failed, ${seconds.toFixed(1)} s (CPU ${cpuSeconds.toFixed(1)} s)${end}`,
  );
}

/** Whether the long tests run as well. */
function isWhole(): boolean {
  return process.argv.includes(ALL) || process.env["PAGURUS_PROVE"] === "1";
}

/** Takes the jobs in order, some at once. */
async function runAll(
  jobs: readonly TestJob[],
  { flags, program }: { flags: readonly string[]; program: string | undefined },
): Promise<RepeatedOutcome[]> {
  const stallMs = process.env["PAGURUS_PROVE"] === "1" ? PROVE_STALL_MS : STALL_MS;
  const env = {
    ...process.env,
    ...testPlaces(),
    ...(program === undefined ? {} : { PAGURUS_TEST_PROGRAM: program }),
    ...(isWhole() ? { PAGURUS_ALL_TESTS: "1" } : {}),
  };
  const outcomes: TestOutcome[] = [];
  const slots = jobs.some(({ files }) => files.some(isAlone)) ? FIXED_SLOTS : SLOTS;
  const runJob = async (job: TestJob): Promise<TestOutcome> => {
    const outcome = await runTestJob(job, { flags, env, stallMs });
    report(outcome);
    return outcome;
  };
  await inSlots(jobs, slots, async (job) => {
    const outcome = await runJob(job);
    outcomes.push(outcome);
    return !outcome.interrupted;
  });
  if (process.argv.includes(REPEAT_FAILED)) return await repeatFailed(outcomes, runJob);
  return outcomes.map((outcome) => ({ ...outcome, unstable: [] }));
}

/** What is left out by default; the last lines say so. */
function leftOut(): string[] {
  const long = isWhole() ? [] : ["LEFT OUT: long tests, which have a shorter form; run npm test -- --all."];
  const files = process.env["PAGURUS_REAL"] === "1" ? [] : filesUnder(ROOT, REAL, ".test.ts");
  if (files.length === 0) return long;
  const real = `LEFT OUT: ${files.length} files against real harness binaries and database servers; run \`npm run setup:real\` and \`npm run setup:servers\`, then PAGURUS_REAL=1 npm test.`;
  return [...long, real];
}

async function main(): Promise<void> {
  const base = process.argv.find((arg) => arg.startsWith(CHANGED))?.slice(CHANGED.length);
  const only = base === undefined ? undefined : await changedTests(ROOT, base);
  if (only?.length === 0) return console.log("No test depends on what changed.");
  const args = process.argv
    .slice(2)
    .filter((arg) => arg !== TIMES && arg !== ALL && arg !== REPEAT_FAILED && !arg.startsWith(CHANGED));
  const filters = args.filter((arg) => !arg.startsWith("-"));
  const jobs = plan(filters, only);
  const outcomes = await runAll(jobs, {
    flags: args.filter((arg) => arg.startsWith("-")),
    // A few tests are done before a build is.
    program: filters.length === 0 ? await buildTestProgram() : undefined,
  });
  const sum = (field: "passed" | "failed" | "skipped"): number =>
    outcomes.reduce((total, outcome) => total + outcome[field], 0);
  const problems = outcomes.flatMap(({ problem }) => problem ?? []);
  if (jobs.length === 0) problems.push(`No test file matches ${args.join(" ") || "test/**/*.test.ts"}.`);
  else if (sum("passed") + sum("failed") === 0) problems.push("No test ran.");
  if (process.argv.includes(TIMES)) printTimes(outcomes);
  console.log("");
  for (const left of leftOut()) console.log(left);
  if (sum("skipped") > 0) console.log(`${sum("skipped")} skipped`);
  for (const test of outcomes.flatMap(({ unstable }) => unstable))
    console.log(`unstable: ${test} (failed once, passed when it was repeated alone)`);
  for (const failure of outcomes.flatMap(({ failures }) => failures)) console.log(`failed: ${failure}`);
  for (const problem of problems) console.log(problem);
  console.log(`${sum("passed")} passed, ${sum("failed") + problems.length} failed`);
  process.exitCode = sum("failed") + problems.length === 0 ? 0 : 1;
  return undefined;
}

await main();
