import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { sep } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";

/** The folder whose checkpoints a working folder has, absolute and without links, or why it has none. */
export function checkpointRoot(
  cwd: string,
  env: Record<string, string | undefined>,
): { root: string } | { problem: string } {
  const root = attempt(() => realpathSync.native(cwd));
  if (root === undefined) return { problem: `the folder ${cwd} cannot be read` };
  const user = attempt(() => realpathSync.native(env["HOME"] ?? homedir()));
  const isAbove =
    user !== undefined && `${user}${sep}`.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
  return isAbove
    ? { problem: `${root} has the home folder of its user, and such folders have no checkpoints` }
    : { root };
}
