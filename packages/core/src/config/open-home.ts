/** What a host does first in its home: closes it to other users of the machine, and removes what a crash left. */
import { chmodSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { relative } from "node:path";
import { sweepTemporaries } from "../platform/atomic-files.ts";
import { configFile } from "./config-paths.ts";

/** Rights of the group and of others. */
const OTHERS = 0o077;
const STICKY = 0o1000;

/** Never throws. */
export function openHome(home: string): void {
  keepHomePrivate(home);
  sweepTemporaries(configFile(home));
}

/**
 * Files of the home are closed already; their names and sizes are not. A folder that is more than our home stays as it is, and `pagurus doctor` reports it: one of another user, one that contains the user's
 * own home, a shared one such as `/tmp`. Never throws.
 */
export function keepHomePrivate(home: string): void {
  // Windows keeps access rights in lists that file modes do not show.
  if (process.platform === "win32") return;
  try {
    const { mode, uid } = statSync(home);
    if ((mode & OTHERS) === 0 || (mode & STICKY) !== 0 || uid !== process.getuid?.()) return;
    if (!relative(home, homedir()).startsWith("..")) return;
    chmodSync(home, mode & 0o700);
  } catch {
    // It does not exist yet, and is made with these rights; or the system refuses, which the doctor reports.
    return;
  }
}
