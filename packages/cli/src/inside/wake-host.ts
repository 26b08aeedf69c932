/** Starts the resident host for the adapters in other programs. */
import { existsSync } from "node:fs";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { isResidentHeld, residentFiles } from "@pagurus/server/resident-place";
import { EXIT_DONE } from "../cli-failure.ts";
import { startResident } from "../resident/start-resident.ts";
import { stopResident } from "../server/resident-process.ts";
import { RESTART_SIGNAL } from "@pagurus/server/server-address";

/** Returns when a host runs or is starting. One from before the installation, which serves no adapters, is replaced. */
export async function wakeForAdapters(env: Record<string, string | undefined>): Promise<number> {
  const home = resolveHome(env);
  if (isResidentHeld(home) && !existsSync(residentFiles(home).inside))
    await stopResident(home, RESTART_SIGNAL);
  startResident(home, env);
  return EXIT_DONE;
}
