import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Whether the folder is a repository, worktree or submodule. An empty `.git` is not: sandboxes of other agents leave such
 * placeholders, in the folder for temporary files too.
 */
export function isRepository(folder: string): boolean {
  const git = join(folder, ".git");
  const stats = statSync(git, { throwIfNoEntry: false });
  return stats?.isFile() === true || (stats?.isDirectory() === true && existsSync(join(git, "HEAD")));
}
