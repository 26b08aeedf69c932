/** Finds processes started by the tested code. Without /proc nothing is known of them. */
import { readFileSync } from "node:fs";
import { processIds } from "@pagurus/core/platform/process-group";

const POLL_MS = 25;

/** Whether this platform can list processes. */
export function knowsProcesses(): boolean {
  return processIds().length > 0;
}

/** Children of this process, from any part of it. */
export function childProcesses(): number[] {
  return childrenOf(process.pid);
}

/** Children of a process that have not ended. */
export function childrenOf(owner: number): number[] {
  return processIds().filter((pid) => {
    const stat = fileOf(pid, "stat");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(parent) === owner && state !== "Z";
  });
}

/** Processes with the text in their environment, including orphans. */
export function processesWith(words: string): number[] {
  return processIds().filter((pid) => fileOf(pid, "environ").includes(words));
}

/** Waits until none is left, at most `ms`. Returns "1 process of the runtime is left: sleep", or undefined. */
export async function leftProcesses(
  owner: string,
  look: () => readonly number[],
  ms: number,
): Promise<string | undefined> {
  const end = performance.now() + ms;
  while (look().length > 0 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  const names = look().map((pid) => fileOf(pid, "comm").trim() || String(pid));
  if (names.length === 0) return undefined;
  const [count, verb] = names.length === 1 ? ["1 process", "is"] : [`${names.length} processes`, "are"];
  return `${count} of ${owner} ${verb} left after its end: ${names.join(", ")}.`;
}

/** Empty for a process that has ended, or that belongs to another user. */
function fileOf(pid: number, name: "stat" | "environ" | "comm"): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
