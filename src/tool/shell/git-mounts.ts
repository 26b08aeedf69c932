/** Sandbox mounts that keep a command from changing what git runs, in the workspace and in folders below it. */
import { existsSync, lstatSync, readdirSync, readlinkSync, statSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { foldersOfEntry, RUN_BY_GIT } from "../places/git-places.ts";
import { foldersBetween, isInside, withoutLinks } from "../places/workspace-boundary.ts";

export interface GitMounts {
  /** Folders that must stay in place: writable, but neither moved nor replaced. */
  fixed: string[];
  /** Read-only files and folders; those in `made` do not exist yet. */
  readOnly: string[];
  made: string[];
  /** Paths that do not exist and must not exist after the command. */
  absent: string[];
  /** Each `.git` that is a link, and its target. */
  links: { path: string; target: string }[];
}

/** Limits of the repository search: folders, and levels below the workspace. */
const MOST_LOOKED_AT = 2_000;
export const DEEPEST_REPOSITORY = 6;
/** Maximum number of guarded git folders, including those of submodules and other working trees. */
const MOST_GUARDED = 64;

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Nothing is found in an unreadable folder.
    return [];
  }
}

/** Each `.git` of `root` and of folders below it, the outer ones first. */
function gitEntries(root: string, hidden: readonly string[]): string[] {
  const found: string[] = [];
  const folders = [{ path: root, depth: 0 }];
  for (const { path, depth } of folders) {
    for (const entry of entriesOf(path)) {
      const inner = join(path, entry.name);
      if (entry.name === ".git") found.push(inner);
      else if (
        entry.isDirectory() &&
        entry.name !== "node_modules" &&
        depth < DEEPEST_REPOSITORY &&
        folders.length < MOST_LOOKED_AT &&
        !hidden.includes(inner)
      )
        folders.push({ path: inner, depth: depth + 1 });
    }
  }
  return found;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

interface Guarding {
  root: string;
  hidden: readonly string[];
  mounts: GitMounts;
  seen: Set<string>;
}

function guardLinks({ root, mounts }: Guarding, folder: string): void {
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

function guardModules(guarding: Guarding, folder: string): void {
  guarding.mounts.fixed.push(folder);
  for (const entry of entriesOf(folder)) {
    if (!entry.isDirectory() || guarding.mounts.fixed.length >= MOST_GUARDED * 4) continue;
    const path = join(folder, entry.name);
    if (existsSync(join(path, "HEAD"))) guardFolder(guarding, path);
    else guardModules(guarding, path);
  }
}

function guardFolder(guarding: Guarding, folder: string): void {
  const { root, hidden, mounts, seen } = guarding;
  if (folder === root || !isInside(root, folder) || !isFolder(folder)) return;
  if (seen.has(folder) || seen.size >= MOST_GUARDED || hidden.some((place) => isInside(place, folder)))
    return;
  seen.add(folder);
  mounts.fixed.push(...foldersBetween(root, folder));
  if (RUN_BY_GIT.some((name) => isLink(join(folder, name)))) return guardLinks(guarding, folder);
  mounts.fixed.push(folder);
  // A folder that shares another one uses that one's hooks.
  const shares = existsSync(join(folder, "commondir"));
  for (const name of RUN_BY_GIT) {
    const path = join(folder, name);
    if (existsSync(path)) mounts.readOnly.push(path);
    else if (name === "hooks" && !shares) mounts.made.push(path);
    else mounts.absent.push(path);
  }
  const [modules, worktrees] = [join(folder, "modules"), join(folder, "worktrees")];
  if (isFolder(modules)) guardModules(guarding, modules);
  if (!isFolder(worktrees)) return;
  mounts.fixed.push(worktrees);
  for (const entry of entriesOf(worktrees)) guardFolder(guarding, join(worktrees, entry.name));
}

function guardEntry(guarding: Guarding, entry: string): void {
  const { root, mounts } = guarding;
  mounts.fixed.push(...foldersBetween(root, entry));
  if (isLink(entry)) mounts.links.push({ path: entry, target: readlinkSync(entry) });
  else if (statSync(entry).isFile()) mounts.readOnly.push(entry);
  if (!existsSync(entry)) return;
  for (const folder of foldersOfEntry(entry)) guardFolder(guarding, folder);
}

/** `hidden` are the places in `root` that appear empty to a command; they are not searched. */
export function gitMounts(root: string, hidden: readonly string[]): GitMounts {
  const mounts: GitMounts = { fixed: [], readOnly: [], made: [], absent: [], links: [] };
  const guarding = { root, hidden, mounts, seen: new Set<string>() };
  for (const entry of gitEntries(root, hidden)) {
    if (mounts.readOnly.length + mounts.links.length >= MOST_GUARDED * RUN_BY_GIT.length) break;
    guardEntry(guarding, entry);
  }
  return {
    ...mounts,
    fixed: [...new Set(mounts.fixed)].filter((path) => !mounts.readOnly.includes(path)),
    readOnly: [...new Set(mounts.readOnly)],
  };
}
