/** Finds and removes session locks whose owner has ended. */
import { readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { toPagurusError } from "@pagurus/contract/errors";
import { processIsAlive, processStartTicks } from "@pagurus/core/platform/process-group";
import { withMutex } from "@pagurus/host/stores/files/mutex";
import { openSessionStore } from "@pagurus/host/stores/files/session-store";
import type { Finding } from "./finding.ts";

/** Owner pid of a lock of this machine whose process has ended; undefined when it may be alive. */
export function deadOwner(file: string): number | undefined {
  try {
    const owner = JSON.parse(readFileSync(file, "utf8")) as {
      pid?: unknown;
      host?: unknown;
      startTicks?: unknown;
    };
    if (typeof owner.pid !== "number" || owner.host !== hostname()) return undefined;
    if (!processIsAlive(owner.pid)) return owner.pid;
    const ticks = processStartTicks(owner.pid);
    const reused = ticks !== undefined && owner.startTicks !== undefined && ticks !== owner.startTicks;
    return reused ? owner.pid : undefined;
  } catch {
    // Just released, or empty after a power cut: opening the session handles it.
    return undefined;
  }
}

/** Reports the dead ones among an agent's locks; with `fix`, removes them if its index is sound. */
export function checkLocks(
  agent: { id: string; folder: string; isIndexSound: boolean },
  files: readonly string[],
  fix: boolean,
): Finding[] {
  const dead = files.filter((file) => deadOwner(file) !== undefined);
  if (dead.length === 0) return [];
  const problem = fix ? indexProblem(agent) : undefined;
  return dead.flatMap((file) => lockFinding(file, fix && problem === undefined, problem));
}

/**
 * The ended writer may have started a session without indexing it. Taking over its lock indexes it, so removing the lock must
 * as well. Returns why that is impossible.
 */
function indexProblem({ id, folder, isIndexSound }: Parameters<typeof checkLocks>[0]): string | undefined {
  if (!isIndexSound) return "it is damaged";
  try {
    const store = openSessionStore({ agentDir: folder, agentId: id });
    try {
      store.list();
      return undefined;
    } finally {
      store.close();
    }
  } catch (error) {
    return toPagurusError(error).message;
  }
}

function lockFinding(file: string, fix: boolean, problem: string | undefined): Finding[] {
  const pid = deadOwner(file);
  // Another process has taken it over meanwhile.
  if (pid === undefined) return [];
  const left = `${file} is left from process ${pid}, which has ended`;
  if (!fix) {
    const why = problem === undefined ? "" : `; it is kept, since the index cannot be read (${problem})`;
    const detail = `${left}; the next turn of the session takes it over${why}.`;
    return [{ level: "info", check: "store", detail }];
  }
  try {
    return removeDeadLock(file) ? [{ level: "ok", check: "store", detail: `${left}; it is removed.` }] : [];
  } catch (error) {
    const detail = `${left}, and cannot be removed: ${toPagurusError(error).message}`;
    return [{ level: "warn", check: "store", detail, fix: "Run the doctor as the owner of the folder." }];
  }
}

/**
 * Removes a lock whose owner has certainly ended. Every take-over of a stale lock holds the same mutex, so a dead lock cannot
 * change owner before it is removed. False: a live process holds it now, or none.
 */
export function removeDeadLock(file: string): boolean {
  return withMutex(dirname(file), () => {
    if (deadOwner(file) === undefined) return false;
    rmSync(file);
    return true;
  });
}
