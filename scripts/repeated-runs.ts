/**
 * Runs one command again and again, quietly and with its processes stopped for a part of each second, and keeps each outcome in a file: a
 * run that was interrupted is begun again, those before it are not.
 */
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Of each second the processes run for the first part, and are stopped for the second, ms. */
const RUN_MS = 550;
const STOP_MS = 450;

export type RunKind = "quiet" | "stopped";

export interface RunOutcome {
  /** What was run, such as a commit and filters; outcomes of another one do not count. */
  of: string;
  kind: RunKind;
  code: number;
  seconds: number;
  /** The last line of the output, for example "5027 passed, 1 failed". */
  last: string;
  /** Lines that name a failed test. */
  failures: string[];
}

export interface RepeatedRuns {
  of: string;
  command: string;
  args: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** How often of each kind. */
  times: Readonly<Record<RunKind, number>>;
  /** One JSON object a line. */
  file: string;
  /** Called after each run. */
  report(outcome: RunOutcome, number: number): void;
}

/** A process and all that it started, from `ps`. */
function treeOf(root: number): number[] {
  const rows = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).stdout.trim().split("\n");
  const parents = rows.map((row) => row.trim().split(/\s+/).map(Number));
  const tree = [root];
  for (const pid of tree)
    tree.push(...parents.flatMap(([child, parent]) => (parent === pid ? [child ?? 0] : [])));
  return tree;
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const each of pids) {
    try {
      process.kill(each, signal);
    } catch (error) {
      // It has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** Stops the tree for a part of each second until `isOver`. */
async function stopAgainAndAgain(pid: number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await pause(RUN_MS);
    if (isOver()) return;
    const stopped = treeOf(pid);
    signalAll(stopped, "SIGSTOP");
    await pause(STOP_MS);
    // Also those that have left the tree: the parent of a stopped process may be killed meanwhile.
    signalAll([...new Set([...stopped, ...treeOf(pid)])], "SIGCONT");
  }
}

async function runOnce({ command, args, env, of }: RepeatedRuns, kind: RunKind): Promise<RunOutcome> {
  const began = performance.now();
  const child = spawn(command, [...args], { env: env ?? process.env, stdio: ["ignore", "pipe", "pipe"] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => void output.push(part));
  let isOver = false;
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => (isOver = true));
    child.once("close", (code) => resolve(code ?? 128));
  });
  const stopping =
    kind === "stopped" && child.pid !== undefined ? stopAgainAndAgain(child.pid, () => isOver) : undefined;
  const code = await ended.finally(() => (isOver = true));
  await stopping;
  const lines = Buffer.concat(output).toString("utf8").trim().split("\n");
  return {
    of,
    kind,
    code,
    seconds: Math.round((performance.now() - began) / 100) / 10,
    last: lines.at(-1) ?? "",
    failures: lines.filter((line) => line.startsWith("failed: ")),
  };
}

function readOutcomes(file: string, of: string): RunOutcome[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  // The last line may be cut where the process was killed.
  return lines
    .slice(0, -1)
    .map((line) => JSON.parse(line) as RunOutcome)
    .filter((outcome) => outcome.of === of);
}

/** Runs what is missing, and returns all outcomes. Rejects when the command cannot be started. */
export async function repeatRuns(runs: RepeatedRuns): Promise<RunOutcome[]> {
  mkdirSync(dirname(runs.file), { recursive: true });
  const outcomes = readOutcomes(runs.file, runs.of);
  for (const kind of ["quiet", "stopped"] as const) {
    let number = outcomes.filter((outcome) => outcome.kind === kind).length;
    for (; number < runs.times[kind]; number += 1) {
      const outcome = await runOnce(runs, kind);
      appendFileSync(runs.file, `${JSON.stringify(outcome)}\n`);
      outcomes.push(outcome);
      runs.report(outcome, number + 1);
    }
  }
  return outcomes;
}
