/** Processes that something under test has started. Nothing is known of them where there is no /proc. */
import { readFileSync } from "node:fs";
import { processIds } from "../platform/process-group.ts";

const POLL_MS = 25;

/** Whether this platform tells which processes there are. */
export function knowsProcesses(): boolean {
  return processIds().length > 0;
}

/** Children of this process, whichever part of it has started them. */
export function childProcesses(): number[] {
  return processIds().filter((pid) => {
    const stat = fileOf(pid, "stat");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(parent) === process.pid && state !== "Z";
  });
}

/** Processes with the words in their environment, also those that were started by others that are gone. */
export function processesWith(words: string): number[] {
  return processIds().filter((pid) => fileOf(pid, "environ").includes(words));
}

/**
 * Waits until none is left, at most `ms`. Answers "1 process of the runtime is left: sleep", or undefined.
 */
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

/** Empty for a process that has ended, or that belongs to somebody else. */
function fileOf(pid: number, name: "stat" | "environ" | "comm"): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
