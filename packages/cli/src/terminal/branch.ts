/** The branch of the workspace's repository, from its files: no program runs for it. */
import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { repositoryRoot } from "@pagurus/core/platform/repository";
import { realPath } from "@pagurus/core/platform/real-path";

/** Name of the branch, or the first 8 digits of a detached commit; undefined outside of a repository. */
export function branchOf(cwd: string): string | undefined {
  const root = repositoryRoot(realPath(cwd));
  if (root === undefined) return undefined;
  const git = gitFolder(join(root, ".git"));
  const head = git === undefined ? undefined : attempt(() => readFileSync(join(git, "HEAD"), "utf8").trim());
  if (head === undefined) return undefined;
  return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? head.slice(0, 8);
}

/** A worktree's `.git` is a file: `gitdir: /home/ana/app/.git/worktrees/fix`. */
function gitFolder(path: string): string | undefined {
  if (attempt(() => statSync(path).isDirectory()) === true) return path;
  const pointer = attempt(() => readFileSync(path, "utf8"));
  const target = /^gitdir: (.+)$/m.exec(pointer ?? "")?.[1];
  return target === undefined ? undefined : resolve(dirname(path), target.trim());
}
