/** Places of what git's next command runs: hooks, settings that name programs, and the files that lead there. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readRegularFile } from "@pagurus/core/platform/regular-file";
import { withoutLinks } from "./workspace-boundary.ts";

/** Paths within a git folder. */
export const RUN_BY_GIT = ["hooks", "config", "config.worktree", "commondir", "gitdir"];
/** Below `.git`: the same paths of the repository, its submodules and its other working trees. */
const RUN_BELOW = new RegExp(
  `^(?:(?:modules|worktrees)/(?:.+/)?)?(?:${RUN_BY_GIT.join("|").replaceAll(".", "\\.")})(?:/|$)`,
);

/** The folder that a `.git` file names; undefined for anything else. */
function namedFolder(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return undefined;
    const named = /^gitdir: (.+)$/m.exec((readRegularFile(file) ?? "").slice(0, 10_000))?.[1];
    return named === undefined ? undefined : withoutLinks(resolve(dirname(file), named));
  } catch {
    // Missing or unreadable: git finds no repository here either.
    return undefined;
  }
}

/** The git folder shared with other working trees; undefined without one. */
function commonFolder(folder: string): string | undefined {
  try {
    const named = readRegularFile(join(folder, "commondir"))?.trim();
    return named === undefined ? undefined : withoutLinks(resolve(folder, named));
  } catch {
    // Most git folders are not shared.
    return undefined;
  }
}

/** The git folders of a `.git`: its own, and the one shared with other working trees. Absolute, without links. */
function foldersOfEntry(entry: string): string[] {
  const own = namedFolder(entry) ?? withoutLinks(entry);
  const common = commonFolder(own);
  return common === undefined || common === own ? [own] : [own, common];
}

/**
 * The git folders of the repository that contains `root`, including those shared with other working trees. Absolute, without
 * links.
 */
export function gitFolders(root: string): string[] {
  for (let at = root; ; at = dirname(at)) {
    const entry = join(at, ".git");
    if (existsSync(entry)) return foldersOfEntry(entry);
    if (dirname(at) === at) return [];
  }
}

/** Whether git would run or follow what is written to `path`; `folders` are those of the repository. */
export function isRunByGit(path: string, folders: readonly string[]): boolean {
  const parts = path.toLowerCase().split("/");
  const last = parts.lastIndexOf(".git");
  // A `.git` that is a file leads to a git folder.
  if (last === parts.length - 1) return true;
  const first = parts.indexOf(".git");
  if (first >= 0 && RUN_BELOW.test(parts.slice(first + 1).join("/"))) return true;
  if (last > first && RUN_BELOW.test(parts.slice(last + 1).join("/"))) return true;
  return folders.some(
    (folder) => path.startsWith(`${folder}/`) && RUN_BELOW.test(path.slice(folder.length + 1)),
  );
}
