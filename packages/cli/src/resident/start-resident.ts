import { attempt } from "@pagurus/core/data/attempt";
import { startForUser } from "@pagurus/core/platform/start-program";
import { launcher } from "../launcher.ts";
import { RESIDENT_COMMAND } from "./resident-command.ts";
import { isResidentHeld, makeResidentFolder, residentProblem } from "@pagurus/server/resident-place";

/** Starts the resident host of a home in the background, unless one runs or none can. Returns whether a process was started. */
export function startResident(home: string, env: Record<string, string | undefined>): boolean {
  // A child of a host, and what a sandbox holds, leave no process.
  if (env["PAGURUS_HOST"] || env["PAGURUS_CHILD"]) return false;
  if (residentProblem(home) !== undefined || isResidentHeld(home)) return false;
  // Where the disk is full or the folder is another user's, each command would start a process that fails.
  if (attempt(() => makeResidentFolder(home) ?? true) !== true) return false;
  const child = startForUser(process.execPath, [launcher(), RESIDENT_COMMAND], {
    cwd: home,
    env,
    stdio: "ignore",
  });
  child.on("error", () => undefined).unref();
  return true;
}
