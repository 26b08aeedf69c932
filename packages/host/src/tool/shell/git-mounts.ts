/** Sandbox mounts that keep a command from changing what git runs, in the workspace and in folders below it. */
import { isInside } from "@pagurus/core/platform/inside";
import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { RUN_BY_GIT } from "../places/git-places.ts";
import { foldersBetween, withoutLinks } from "../places/workspace-boundary.ts";

export interface GitMounts {
  /** Folders that must stay in place: writable, but neither moved nor replaced. */
  fixed: string[];
  /** Read-only files and folders; those in `made` do not exist yet. */
  readOnly: string[];
  made: string[];
  /** Files that do not exist, and each `.git` that is a link; the sandbox either puts harmless ones there for the time of the command, or denies their names. */
  absent: string[];
}

/** What a look at the workspace found; absolute paths. */
export interface FoundGit {
  /** Git folders, those of submodules and other working trees included; outer ones first. */
  folders: readonly string[];
  /** Each `.git` that is a file or a link. */
  entries: readonly string[];
}

/** Maximum number of git folders with mounts. Those beyond are checked after the command, like all of them. */
const MOST_GUARDED = 64;

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function guardLinks(root: string, mounts: GitMounts, folder: string): void {
  // A link could be replaced, and a mount on it would apply to its target.
  mounts.readOnly.push(folder);
  for (const name of RUN_BY_GIT) {
    const path = join(folder, name);
    if (!isLink(path) || !existsSync(path)) continue;
    const target = withoutLinks(path);
    if (target === root || !isInside(root, target)) continue;
    mounts.fixed.push(...foldersBetween(root, target));
    mounts.readOnly.push(target);
  }
}

function guardFolder(root: string, mounts: GitMounts, folder: string): void {
  mounts.fixed.push(...foldersBetween(root, folder));
  if (RUN_BY_GIT.some((name) => isLink(join(folder, name)))) return guardLinks(root, mounts, folder);
  mounts.fixed.push(folder);
  // A folder that shares another one uses that one's hooks.
  const shares = existsSync(join(folder, "commondir"));
  for (const name of RUN_BY_GIT) {
    const path = join(folder, name);
    if (existsSync(path)) mounts.readOnly.push(path);
    else if (name === "hooks" && !shares) mounts.made.push(path);
    else mounts.absent.push(path);
  }
}

/** `hidden` are the places in `root` that appear empty to a command. */
export function gitMounts(root: string, hidden: readonly string[], found: FoundGit): GitMounts {
  const mounts: GitMounts = { fixed: [], readOnly: [], made: [], absent: [] };
  const isOpen = (path: string): boolean => path !== root && !hidden.some((place) => isInside(place, path));
  for (const entry of found.entries.filter(isOpen).slice(0, MOST_GUARDED)) {
    mounts.fixed.push(...foldersBetween(root, entry));
    // A mount on a link would apply to its target.
    (isLink(entry) ? mounts.absent : mounts.readOnly).push(entry);
  }
  for (const folder of found.folders.filter(isOpen).slice(0, MOST_GUARDED)) guardFolder(root, mounts, folder);
  return {
    ...mounts,
    fixed: [...new Set(mounts.fixed)].filter((path) => !mounts.readOnly.includes(path)),
    readOnly: [...new Set(mounts.readOnly)],
  };
}
