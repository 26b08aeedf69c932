/** The process of the resident host, for `pagurus serve status`, `stop` and `restart`. */
import { loadConfig } from "@pagurus/core/config/load-config";
import { installedPrograms } from "@pagurus/inside/install/install-record";
import { runningResident, type ResidentFacts } from "@pagurus/server/resident-place";
import { RESTART_SIGNAL } from "@pagurus/server/server-address";
import { printLine, type Cli } from "../cli.ts";
import { metWithin } from "./met-within.ts";

/** How long a host may take to end, ms: commands that run in it end first. */
const END_MS = 20_000;

export function residentFact(home: string): { resident?: ResidentFacts } {
  const resident = runningResident(home);
  return resident ? { resident } : {};
}

export function printResident(cli: Cli, home: string): void {
  const found = runningResident(home);
  if (found) printLine(cli.stdout, `Resident process ${found.pid}, since ${found.startedAt}`);
}

/** Ends the host: at SIGTERM with its commands, at `RESTART_SIGNAL` after them. Returns whether one ran. */
export async function stopResident(
  home: string,
  signal: "SIGTERM" | typeof RESTART_SIGNAL,
): Promise<boolean> {
  const found = runningResident(home);
  if (!found) return false;
  process.kill(found.pid, signal);
  await metWithin(END_MS, () => runningResident(home)?.pid !== found.pid);
  return true;
}

/** Ends the host, and starts it with the code that is installed now where the configuration asks for one. Returns whether one ran. */
export async function restartResident(home: string, env: Cli["env"]): Promise<boolean> {
  if (!(await stopResident(home, RESTART_SIGNAL))) return false;
  if (loadConfig({ home }).config.server?.resident !== true && installedPrograms(home).size === 0)
    return true;
  const { startResident } = await import("../resident/start-resident.ts");
  startResident(home, env);
  return true;
}
