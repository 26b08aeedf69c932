/** Builds bubblewrap's mounts around a command. */
import { isInside } from "@pagurus/core/platform/inside";
import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import type { GitMounts } from "./git-mounts.ts";
import { attempt } from "@pagurus/core/data/attempt";
import { basename, dirname, join } from "node:path";

export interface Mounts {
  /** The workspace; absolute, without links. */
  root: string;
  /** The only other places that a command sees, read-only, by their own names; absolute. */
  shown: readonly string[];
  /** Folders that exist without their contents, such as the user's home; absolute, without links. */
  empty: readonly string[];
  /** Files and folders in these and in the workspace that appear empty; absolute, without links. */
  hidden: readonly string[];
  /** Workspace folders above hidden places: writable, but neither moved nor replaced. */
  held: readonly string[];
  git: GitMounts;
  /** Settings of the kernel that are made read-only; absolute. */
  settings?: readonly string[];
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

/** The real path, or undefined for one that does not exist. */
type RealPath = (path: string) => string | undefined;

/** For one command: each is asked for several times. */
function realPaths(): RealPath {
  const known = new Map<string, string | undefined>();
  return (path) => {
    if (!known.has(path))
      known.set(
        path,
        attempt(() => realpathSync.native(path)),
      );
    return known.get(path);
  };
}

/** Links of the top folder, such as `/bin` to `usr/bin`, which programs and paths go through. */
function topLinks(): string[] {
  return readdirSync("/").flatMap((name) => {
    const path = `/${name}`;
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
      ? ["--symlink", readlinkSync(path), path]
      : [];
  });
}

/** Deepest folder of `/proc` that is searched for files that a superuser could write; deeper ones count as writable. */
const DEEPEST_SETTING = 6;
/** Covered by bubblewrap itself, like each mount at a cost. */
const COVERED = new Set(["bus", "irq"]);

function isWritableSetting(path: string, depth: number, writable: number): boolean {
  const stat = attempt(() => lstatSync(path));
  if (!stat || stat.isSymbolicLink()) return false;
  if (!stat.isDirectory()) return (stat.mode & writable) !== 0;
  const names = attempt(() => readdirSync(path)) ?? [];
  return depth >= DEEPEST_SETTING
    ? names.length > 0
    : names.some((name) => isWritableSetting(join(path, name), depth + 1, writable));
}

/**
 * Settings of the kernel under `/proc`, which belong to the superuser: its commands could write them, also without capabilities.
 * By kind, not by name: each file, or folder with a file, that has a permission to write; for an ordinary user what everyone may write.
 */
export function kernelSettings(): string[] {
  const isRoot = process.getuid?.() === 0;
  const writable = isRoot ? 0o222 : 0o002;
  return readdirSync("/proc")
    .filter((name) => !/^\d+$/.test(name) && !COVERED.has(name))
    .map((name) => `/proc/${name}`)
    .filter((path) => path === "/proc/sys" || isWritableSetting(path, 1, writable));
}

interface Mount {
  path: string;
  arguments: string[];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function hide(path: string): Mount[] {
  const over = isFolder(path) ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
  return [{ path, arguments: over }];
}

/** Shows the target under the path's own name. The folders above are without links, which bubblewrap would resolve outside. */
function readOnly(path: string, real: RealPath): Mount {
  const own = join(real(dirname(path)) ?? dirname(path), basename(path));
  return { path: own, arguments: ["--ro-bind", real(path) ?? path, own] };
}

/** Without those that another one shows already. */
function outermost(shown: readonly string[], masked: readonly string[], real: RealPath): string[] {
  const own = new Set(shown.filter((path) => real(path) === path));
  return shown.filter((path) => {
    if (!own.has(path)) return real(path) !== undefined;
    return ![...own].some(
      (other) =>
        other !== path &&
        isInside(other, path) &&
        !masked.some((place) => isInside(other, place) && isInside(place, path)),
    );
  });
}

/**
 * Arguments of bubblewrap before the command. `proc`: `own` mounts a `/proc` of its own processes; `none` an empty one, for
 * systems that forbid the former: the host's shows the environment of other programs, including keys. Without capabilities even
 * the superuser cannot undo a mount.
 */
export function bwrapArguments(
  { root, hidden, shown, empty, held, git, settings = [] }: Mounts,
  options: { proc: "own" | "none"; network: "on" | "off"; filterDescriptor?: number | undefined },
): string[] {
  const real = realPaths();
  const ownPlaces = ownFolders();
  const links = topLinks();
  const within = (places: readonly string[], path: string): boolean =>
    places.some((place) => isInside(place, path));
  // Only what is visible can be hidden.
  const visible = [root, ...shown];
  const masked = hidden.filter((path) => existsSync(path) && within(visible, path));
  // A file written to a home in a private folder would be lost without an error.
  const lost = empty.filter((path) => within(ownPlaces, path) && path !== root);
  const mounts: Mount[] = [
    ...ownPlaces.map((path) => ({ path, arguments: ["--tmpfs", path] })),
    ...outermost(shown, masked, real)
      .filter((path) => !links.includes(path))
      .map((path) => readOnly(path, real)),
    ...empty.map((path) => ({ path, arguments: [lost.includes(path) ? "--tmpfs" : "--dir", path] })),
    ...masked.flatMap(hide),
    { path: root, arguments: ["--bind", root, root] },
    // A mount point cannot be renamed.
    ...[...new Set([...held, ...git.fixed])].map((path) => ({ path, arguments: ["--bind", path, path] })),
    ...git.made.map((path) => ({ path, arguments: ["--tmpfs", path] })),
    ...git.readOnly.map((path) => readOnly(path, real)),
  ];
  // Outer places first: a mount hides earlier mounts inside it.
  const ordered = mounts.toSorted((a, b) => a.path.split("/").length - b.path.split("/").length);
  // Elsewhere it does not matter what a command writes to an empty folder, and each seal has its cost.
  const keptIn = [root, ...empty];
  const sealed = [
    "/",
    ...lost,
    ...masked.filter((path) => within(keptIn, path) && isFolder(path)),
    ...git.made,
  ];
  return [
    ...links,
    "--dev",
    "/dev",
    "--unshare-pid",
    "--unshare-ipc",
    ...(options.proc === "own"
      ? ["--proc", "/proc", ...settings.flatMap((path) => ["--ro-bind", path, path])]
      : ["--tmpfs", "/proc"]),
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
