/** One process of `node --test`: its files, its output, and the limit for a file that makes no progress. */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { ROOT } from "./command.ts";
import type { TestEnded, TestLine, TestStarted } from "./test-reporter.ts";

export interface TestJob {
  title: string;
  files: string[];
}

interface TestCounts {
  job: TestJob;
  passed: number;
  failed: number;
  skipped: number;
  /** Each test that ended, in order. */
  tests: TestEnded[];
  /** The failed tests: file and name. */
  failures: string[];
  /** Why the job did not end as it should, although its tests may have passed. */
  problem?: string;
}

export interface TestOutcome extends TestCounts {
  seconds: number;
  /** Seconds of CPU that the job and its ended children used; up to its last test where it was killed. */
  cpuSeconds: number;
  /** Of these, what the children used. */
  childrenSeconds: number;
  /** A signal ended this process's work: no further job should start. */
  interrupted: boolean;
  /** What the runner and the tests printed. */
  output: string;
}

export interface TestJobOptions {
  flags: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Milliseconds without any test that starts or ends; then the job is killed and its running test is named. */
  stallMs: number;
}

const POLL_MS = 500;
const REPORTER = new URL("./test-reporter.ts", import.meta.url).href;

/** The folder of a job: what it printed, and the lines of the reporter. */
interface JobFiles {
  folder: string;
  output: string;
  lines: string;
}

function readLines(file: string): TestLine[] {
  if (!existsSync(file)) return [];
  // The last line may be cut where the job was killed.
  return readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as TestLine);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The tests that started and have not ended, the innermost last, and their file. */
function running(lines: readonly TestLine[]): string {
  const open: TestStarted[] = [];
  for (const line of lines) {
    if (line.type === "start") open.push(line);
    else if (line.type !== "summary") {
      const index = open.findLastIndex(({ name }) => name === line.name);
      if (index !== -1) open.splice(index, 1);
    }
  }
  const last = open.at(-1);
  if (last === undefined) return "no test was running";
  return `running: ${relative(ROOT, last.file)}: ${open.map(({ name }) => name).join(" > ")}`;
}

/** `stalled`: killed because it made no progress. `interrupted`: killed because this process got a signal to stop. */
type JobEnd = "ended" | "stalled" | "interrupted";

function waitForEnd(child: ChildProcess, files: JobFiles, stallMs: number): Promise<JobEnd> {
  return new Promise((resolve, reject) => {
    let size = -1;
    let since = performance.now();
    let end: JobEnd = "ended";
    const timer = setInterval(() => {
      const now = existsSync(files.lines) ? statSync(files.lines).size : 0;
      if (now !== size) {
        size = now;
        since = performance.now();
      } else if (performance.now() - since > stallMs) {
        end = "stalled";
        killGroup(child);
      }
    }, POLL_MS);
    const stop = (): void => {
      end = "interrupted";
      killGroup(child);
    };
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    const release = (): void => {
      clearInterval(timer);
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
    };
    child.once("error", (error) => {
      release();
      reject(error);
    });
    child.once("close", () => {
      release();
      // What a test left running must not run beside the next file.
      killGroup(child);
      resolve(end);
    });
  });
}

function problemOf(
  lines: readonly TestLine[],
  child: ChildProcess,
  end: JobEnd,
  stallMs: number,
): string | undefined {
  const code = child.exitCode ?? child.signalCode;
  if (end === "stalled")
    return `stopped after ${Math.round(stallMs / 1000)} s without progress (${running(lines)})`;
  if (end === "interrupted") return `was interrupted (${running(lines)})`;
  if (!lines.some(({ type }) => type === "summary")) return `ended with ${code} before it could report`;
  if (code !== 0 && !lines.some(({ type }) => type === "fail"))
    return `ended with ${code} although no test failed`;
  return undefined;
}

function outcomeOf(job: TestJob, lines: readonly TestLine[], problem: string | undefined): TestCounts {
  const ended = lines.filter((line): line is TestEnded => "suite" in line && !line.suite);
  const failed = ended.filter(({ type }) => type === "fail");
  return {
    job,
    tests: ended,
    passed: ended.filter(({ type }) => type === "pass").length,
    failed: failed.length,
    skipped: ended.filter(({ type }) => type === "skip").length,
    failures: failed.map(({ name, file }) => `${relative(ROOT, file)}: ${name}`),
    ...(problem === undefined ? {} : { problem: `${job.title} ${problem}` }),
  };
}

/** Runs the job's files in one process, in a process group of its own, which is ended with it. */
export async function runTestJob(job: TestJob, options: TestJobOptions): Promise<TestOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-test-"));
  const files = { folder, output: join(folder, "output.txt"), lines: join(folder, "lines.jsonl") };
  const started = performance.now();
  const output = openSync(files.output, "w");
  try {
    const args = [
      "--test",
      "--test-isolation=none",
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      `--test-reporter=${REPORTER}`,
      `--test-reporter-destination=${files.lines}`,
      ...options.flags,
      ...job.files,
    ];
    // Set where this runs inside a test; with it the runner would report to that test instead.
    const { NODE_TEST_CONTEXT: _, ...env } = options.env;
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env,
      stdio: ["ignore", output, output],
      detached: true,
    });
    const end = await waitForEnd(child, files, options.stallMs);
    const lines = readLines(files.lines);
    return {
      ...outcomeOf(job, lines, problemOf(lines, child, end, options.stallMs)),
      cpuSeconds: lines.reduce((most, line) => Math.max(most, "cpu" in line ? line.cpu : 0), 0) / 1000,
      childrenSeconds:
        lines.reduce((most, line) => Math.max(most, "cpu" in line ? line.childrenCpu : 0), 0) / 1000,
      interrupted: end === "interrupted",
      seconds: (performance.now() - started) / 1000,
      output: readFileSync(files.output, "utf8"),
    };
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true, force: true });
  }
}
