/** Cleanup after a command in the sandbox: files that could not be mounted over, since they did not exist. */
import { lstatSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { GitMounts } from "./git-mounts.ts";
import { systemCode } from "../tool-error.ts";
import { withoutLinks } from "../places/workspace-boundary.ts";

const REASON = "git would run or follow it, or it belongs to Pagurus; do not try another way";

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Whether no link was put above the path, which could lead anywhere. */
function isInPlace(path: string): boolean {
  try {
    return withoutLinks(dirname(path)) === dirname(path);
  } catch {
    // An endless chain of links.
    return false;
  }
}

function linkOf(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
}

/** Records what is absent now, and the targets of links. `files` are further files that must not be created. */
export function undoing(
  { root, git }: { root: string; git: GitMounts },
  files: readonly string[],
): () => string[] {
  const undo = (path: string, what: string, act: () => void): string => {
    const shown = relative(root, path);
    try {
      act();
      return `sandbox: the command's "${shown}" was ${what}: ${REASON}`;
    } catch (error) {
      return `sandbox: the command's "${shown}" could not be ${what} (${systemCode(error) ?? String(error)}), and must be before git is used here: ${REASON}`;
    }
  };
  return () => [
    ...[...git.absent, ...files]
      .filter((path) => isInPlace(path) && exists(path))
      .map((path) => undo(path, "removed", () => rmSync(path, { recursive: true, force: true }))),
    ...git.links
      .filter(({ path, target }) => isInPlace(path) && linkOf(path) !== target)
      .map(({ path, target }) =>
        undo(path, "replaced by the link that was there", () => {
          rmSync(path, { recursive: true, force: true });
          symlinkSync(target, path);
        }),
      ),
  ];
}
