/** Closes the home folder to other users of the machine: its files are closed, but their names and sizes are not. */
import { chmodSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { relative } from "node:path";

/** Rights of the group and of others. */
const OTHERS = 0o077;
const STICKY = 0o1000;

/**
 * A folder that is more than our home stays as it is, and `pagurus doctor` reports it: one of another user, one that contains the user's
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
