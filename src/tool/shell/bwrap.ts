/** Builds bubblewrap's mounts around a command. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import type { GitMounts } from "./git-mounts.ts";
import { isInside } from "../places/workspace-boundary.ts";

export interface Mounts {
  /** The workspace; absolute, without links. */
  root: string;
  /** Files and folders that appear empty to a command; absolute, without links. */
  hidden: readonly string[];
  /** Parts of them that it may read, and parts of its private folders that it needs. */
  shown: readonly string[];
  /** Workspace folders above hidden places: writable, but neither moved nor replaced. */
  held: readonly string[];
  git: GitMounts;
}

/** Private folders of a command: empty at its start, removed at its end. */
const OWN_FOLDERS = ["/tmp", "/var/tmp", "/run", "/var/run"];

/** Those that exist as folders; a link is resolved. */
function ownFolders(): string[] {
  return OWN_FOLDERS.filter((folder) => {
    try {
      return realpathSync.native(folder) === folder && statSync(folder).isDirectory();
    } catch {
      // Not on this system.
      return false;
    }
  });
}

function realOrNothing(path: string): string[] {
  try {
    return isAbsolute(path) ? [realpathSync.native(path)] : [];
  } catch {
    // It does not exist.
    return [];
  }
}

/** Paths that commands need inside a private folder: programs, the user's home, host name files. */
export function neededInside(env: Record<string, string | undefined>): string[] {
  const own = ownFolders();
  const wanted = [
    ...(env["PATH"] ?? "").split(":"),
    env["HOME"] ?? homedir(),
    "/etc/resolv.conf",
    "/run/current-system",
    "/run/wrappers",
  ];
  const found = wanted.flatMap(realOrNothing).filter((path) => own.some((folder) => isInside(folder, path)));
  return [...new Set(found)].filter((path) => !own.includes(path));
}

interface Mount {
  path: string;
  arguments: string[];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function hide(path: string): Mount[] {
  if (!existsSync(path)) return [];
  const over = isFolder(path) ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
  return [{ path, arguments: over }];
}

function readOnly(path: string): Mount {
  return { path, arguments: ["--ro-bind", path, path] };
}

/**
 * Arguments of bubblewrap before the command. `proc`: `own` mounts a `/proc` of its own processes; `none` an empty one, for
 * systems that forbid the former: the host's shows the environment of other programs, including keys. Without capabilities even
 * the superuser cannot undo a mount.
 */
export function bwrapArguments(
  { root, hidden, shown, held, git }: Mounts,
  options: { proc: "own" | "none"; network: "on" | "off"; filterDescriptor?: number | undefined },
): string[] {
  const ownPlaces = ownFolders();
  const covered = (path: string): boolean =>
    hidden.some((place) => isInside(place, path)) ||
    (ownPlaces.some((place) => isInside(place, path)) && !isInside(root, path));
  const mounts: Mount[] = [
    ...ownPlaces.map((path) => ({ path, arguments: ["--tmpfs", path] })),
    ...hidden.flatMap(hide),
    ...shown.filter((path) => covered(path) && existsSync(path)).map(readOnly),
    { path: root, arguments: ["--bind", root, root] },
    // A mount point cannot be renamed.
    ...[...new Set([...held, ...git.fixed])].map((path) => ({ path, arguments: ["--bind", path, path] })),
    ...git.made.map((path) => ({ path, arguments: ["--tmpfs", path] })),
    ...git.readOnly.map(readOnly),
  ];
  // Outer places first: a mount hides earlier mounts inside it.
  const ordered = mounts.toSorted((a, b) => a.path.split("/").length - b.path.split("/").length);
  const sealed = [...hidden.filter((path) => existsSync(path) && isFolder(path)), ...git.made];
  return [
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--unshare-pid",
    "--unshare-ipc",
    ...(options.proc === "own" ? ["--proc", "/proc"] : ["--tmpfs", "/proc"]),
    ...(options.network === "off" ? ["--unshare-net"] : []),
    ...ordered.flatMap((mount) => mount.arguments),
    ...sealed.flatMap((path) => ["--remount-ro", path]),
    ...(options.filterDescriptor === undefined ? [] : ["--seccomp", String(options.filterDescriptor)]),
    "--setenv",
    "TMPDIR",
    "/tmp",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--",
  ];
}
