import { readdirSync, readFileSync } from "node:fs";
import { processMark, startProgram, type ChildProcess, type SpawnOptions } from "./start-program.ts";

/** Starts a child as the leader of its own process group, so that it can be ended with all its children. `command` is an absolute path. */
export function spawnGroup(
  command: string,
  args: readonly string[],
  options: SpawnOptions = {},
): ChildProcess {
  return startProgram(command, args, { ...options, detached: true });
}

/** Sends a signal to a child's whole group; ignored if the group has ended, or is another user's. */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

/** Polls with growing pauses of 1 to 20 ms; false if the time passed. */
async function until(holds: () => boolean, deadlineMs: number): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  for (let step = 1; !holds(); step = Math.min(20, step * 2)) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, step));
  }
  return true;
}

/** Timeout of each step of an ending before the next, harder one, ms. */
export interface EndDeadlines {
  /** After the end of its standard input; absent: at once. */
  eofMs?: number;
  /** After SIGTERM to the group. */
  termMs: number;
  /** After SIGKILL to the group. */
  killMs: number;
}

/** Ends a child's group with SIGTERM, then SIGKILL. Resolves when it is gone or the last time has passed. `isReaped`: the child itself has ended. */
export async function endGroup(
  child: ChildProcess,
  { eofMs = 0, termMs, killMs }: EndDeadlines,
  isReaped: () => boolean = () => true,
): Promise<void> {
  const isGone = (): boolean => isReaped() && !groupIsAlive(child);
  if (await until(isGone, eofMs)) return;
  killGroup(child, "SIGTERM");
  if (await until(isGone, termMs)) return;
  killGroup(child, "SIGKILL");
  await until(isGone, killMs);
}

/**
 * Kills what an ended child has started in other process sessions, where /proc shows it: commands that harnesses run are not in the
 * child's group. A process that cleared its environment is not found.
 */
export function killDescendants(child: ChildProcess): void {
  const mark = processMark(child);
  if (mark === undefined) return;
  for (const pid of processIds()) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark)) continue;
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended in between, or is another user's.
      continue;
    }
  }
}

/** Start time of this process; it does not change. */
let ownStartTicks: string | undefined;

/**
 * Start time of a process, in clock ticks since boot, so that a reused pid is not mistaken for its former owner. Undefined
 * where the platform has no such figure.
 */
export function processStartTicks(pid: number): string | undefined {
  if (pid !== process.pid) return processStat(pid)?.[19];
  return (ownStartTicks ??= processStat(pid)?.[19]);
}

/** Fields of `/proc/<pid>/stat` from the state on. */
function processStat(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** A process that has ended but was not reaped by its parent counts as dead: it holds nothing any more. */
export function processIsAlive(pid: number): boolean {
  if (pid === process.pid) return true;
  if (processStat(pid)?.[0] === "Z") return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Ids of all processes; none without `/proc`. */
export function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Zombies stay in their group until their parent reaps them; where /proc shows them, they do not count. */
function onlyZombies(group: number): boolean {
  if (process.platform !== "linux") return false;
  const pids = processIds();
  if (pids.length === 0) return false;
  return pids.every((pid) => {
    const [state, , owner] = processStat(pid) ?? [];
    return Number(owner) !== group || state === "Z" || state === "X";
  });
}

/** Whether a live process of a child's group is left. */
function groupIsAlive({ pid }: ChildProcess): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(-pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return !onlyZombies(pid);
}
