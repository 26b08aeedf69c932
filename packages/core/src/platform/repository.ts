import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Whether the folder is a repository, worktree or submodule. An empty `.git` is not: sandboxes of other agents leave such
 * placeholders, in the folder for temporary files too.
 */
export function isRepository(folder: string): boolean {
  const git = join(folder, ".git");
  const stats = statSync(git, { throwIfNoEntry: false });
  return stats?.isFile() === true || (stats?.isDirectory() === true && existsSync(join(git, "HEAD")));
}

/** Root of the repository that a folder is part of; undefined if it is part of none. `folder` is absolute and free of symbolic links. */
export function repositoryRoot(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (isRepository(at)) return at;
    if (dirname(at) === at) return undefined;
  }
}
