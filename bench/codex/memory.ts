/**
 * Codex's memory for the host's sessions. A loaded thread stays loaded until it is archived, or has had no subscriber for
 * Codex's delay, so that memory depends on the number of sessions that had a turn.
 */
import { fork } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { BareCodex } from "./bare.ts";
import type { MemoryFigures, MemoryJob } from "./memory-child.ts";
import { bareEnv, makeCodexPlace, type ResponsesEndpoint } from "./place.ts";
import { recordTurn } from "./record-turn.ts";

/** Resident memory of a process and its descendants, MB. Linux only. */
export function residentMb(pid: number): number {
  return processTree(pid).reduce((sum, each) => sum + ownMb(each), 0);
}

function ownMb(pid: number): number {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes ?? 0) / 1_000;
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}

/** Children of a process. */
export function childrenOf(pid: number): number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((each) => parentOf(each) === pid);
}

function parentOf(pid: number): number {
  try {
    // After the name, which may contain anything: state, parent.
    const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return Number(parent ?? 0);
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}

function processTree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(processTree)];
}

export async function memoryRows(endpoint: ResponsesEndpoint, options: BenchOptions): Promise<BenchRow[]> {
  if (process.platform !== "linux") {
    options.log("memory: only measured on Linux");
    return [];
  }
  const bare = await bareRows(endpoint, options);
  const { threads, turns, epochs } = sizes(options);
  options.log(`memory: ${threads.join(", ")} sessions, ${turns} turns in one, ${epochs} epochs`);
  const figures = await hostFigures({ baseUrl: `${endpoint.origin}/v1`, threads, turns, epochs });
  const [few = 0, many = 0] = figures.child;
  const [fewThreads = 0, manyThreads = 0] = threads;
  const mb = (measure: string, value: number): BenchRow => ({ measure, value, unit: "MB" });
  return [
    ...bare,
    mb("child, after 1 turn", figures.first),
    mb(`child, ${fewThreads} sessions`, few),
    mb(`child, ${manyThreads} sessions`, many),
    mb("child, for a session more", (many - few) / (manyThreads - fewThreads)),
    mb(`child, ${turns} turns more in one session`, figures.turns),
    mb(`child, ${epochs} epochs more in one session`, figures.epochs),
    mb("host, after 1 turn", figures.host),
    mb("host, after all of these", figures.hostAtEnd),
  ];
}

function sizes({ quick }: BenchOptions): Omit<MemoryJob, "baseUrl"> {
  return quick ? { threads: [3, 6], turns: 5, epochs: 3 } : { threads: [20, 60], turns: 200, epochs: 40 };
}

/** The program alone: idle, and how many of its threads stay loaded once they are archived. */
async function bareRows(endpoint: ResponsesEndpoint, options: BenchOptions): Promise<BenchRow[]> {
  const count = options.quick ? 3 : 20;
  const { place, recorded } = await recordTurn(`${endpoint.origin}/v1`, 0);
  const bare = await BareCodex.start(place.binary, recorded, bareEnv(place, "bare"));
  try {
    const idle = residentMb(bare.pid);
    for (let index = 0; index < count; index++) {
      const thread = await bare.thread([]);
      await bare.turn(thread, "How is the tide?");
      await bare.request("thread/archive", { threadId: thread });
    }
    return [
      { measure: "child, idle", value: idle, unit: "MB" },
      withTarget(
        {
          measure: `threads still loaded after ${count} were archived`,
          value: await bare.loaded(),
          unit: "threads",
        },
        "<=",
        0,
      ),
    ];
  } finally {
    await bare.end();
    place.remove();
  }
}

/** The host in its own process, so that only its memory is measured. */
async function hostFigures(job: MemoryJob): Promise<MemoryFigures> {
  const place = makeCodexPlace();
  const { root, home, workspace, binary, env } = place;
  const child = fork(join(import.meta.dirname, "memory-child.ts"), { env: { ...process.env, ...env } });
  try {
    return await new Promise<MemoryFigures>((resolve, reject) => {
      child.once("message", (figures: MemoryFigures) => resolve(figures));
      child.once("exit", (code) => reject(new Error(`the host of the benchmark ended with ${code}`)));
      child.send({ ...job, place: { root, home, workspace, binary, env } });
    });
  } finally {
    place.remove();
  }
}
