/**
 * The places besides the workspace that commands and reading tools may see. One list for both: what a sandboxed command may not
 * see, `read` does not show without a question.
 */
import { isInside } from "@pagurus/core/platform/inside";
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  statSync,
  readdirSync,
  realpathSync,
  type Dirent,
} from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { pathFolders } from "@pagurus/core/platform/executables";
import { homesOf } from "@pagurus/core/platform/homes";
import { readRegularFile } from "@pagurus/core/platform/regular-file";
import { gitFolders } from "./git-places.ts";
import {
  SYSTEM_PLACES,
  TOOLCHAIN_VARIABLES,
  TOOLCHAINS,
  holdsNoKey,
  type Toolchain,
} from "@pagurus/core/platform/toolchain-places";

type Env = Readonly<Record<string, string | undefined>>;

export interface ShownPlaces {
  /** Files and folders that exist, by their own names: absolute, links not followed. */
  shown: string[];
  /** Parts of them, or of the workspace, that are hidden. Absolute, without links. */
  hidden: string[];
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    // It does not exist.
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    // An unreadable folder shows nothing.
    return [];
  }
}

function entriesIn(folder: string): Dirent[] {
  // An unreadable folder shows nothing.
  return attempt(() => readdirSync(folder, { withFileTypes: true })) ?? [];
}

/** Existing paths of a pattern whose parts may be `*`. */
function expanded(base: string, pattern: string): string[] {
  let found = [base];
  for (const part of pattern.split("/"))
    found = found.flatMap((at) =>
      part === "*" ? namesIn(at).map((name) => join(at, name)) : [join(at, part)],
    );
  return found.filter((path) => existsSync(path));
}

function isKeyless(file: string): boolean {
  try {
    const text = readRegularFile(file);
    return text !== undefined && holdsNoKey(text);
  } catch {
    // Missing or unreadable, so a command could not read it either.
    return false;
  }
}

/** Whether a folder holds so much that showing it would show a home: the whole disk, a home, or a folder above one. */
function isTooMuch(path: string, homes: readonly string[]): boolean {
  const real = realOf(path) ?? path;
  if (dirname(real) === real) return true;
  return [...homes, "/home", "/root", "/Users"].some((home) => isInside(real, home));
}

function toolchainPlaces(
  toolchain: Toolchain,
  home: string,
  env: Env,
  homes: readonly string[],
): ShownPlaces {
  const moved = toolchain.env ? env[toolchain.env] : undefined;
  const bases = [
    join(home, toolchain.at),
    ...(moved !== undefined && isAbsolute(moved) ? [resolve(moved)] : []),
  ];
  const shown = bases.flatMap((base) =>
    toolchain.only ? toolchain.only.map((name) => join(base, name)) : [base],
  );
  return {
    shown: shown.filter(
      (path) =>
        existsSync(path) && !isTooMuch(path, homes) && (toolchain.checked !== true || isKeyless(path)),
    ),
    hidden: bases.flatMap((base) => (toolchain.keys ?? []).flatMap((pattern) => expanded(base, pattern))),
  };
}

const PROGRAM_FOLDERS = new Set(["bin", ".bin", "sbin", "shims", "Scripts"]);

/**
 * The folder of programs, with the libraries beside it: for "/srv/tools/node/bin" "/srv/tools/node". Not for "~/.cargo/bin": the list
 * knows what of it is shown.
 */
function withLibraries(folder: string, homes: readonly string[]): string {
  const above = dirname(folder);
  if (!PROGRAM_FOLDERS.has(basename(folder)) || above.split("/").length < 3 || isTooMuch(above, homes))
    return folder;
  const isKnown = homes.some(
    (home) => dirname(above) === home || TOOLCHAINS.some(({ at }) => isInside(above, join(home, at))),
  );
  return isKnown ? folder : above;
}

/** Folders of programs of the environment, which the user put there; and of the Node that runs this. */
function programPlaces(env: Env, homes: readonly string[]): string[] {
  const folders = [...pathFolders(env["PATH"]), dirname(process.execPath)].map((folder) =>
    withLibraries(resolve(folder), homes),
  );
  const variables = TOOLCHAIN_VARIABLES.flatMap((name) => env[name] ?? []).filter((path) => isAbsolute(path));
  return [...folders, ...variables].filter((path) => existsSync(path) && !isTooMuch(path, homes));
}

/** Whether a git folder elsewhere names this workspace as its own: a `.git` file alone could name anything. */
function knowsWorkspace(folder: string, root: string): boolean {
  const text = (name: string): string => {
    try {
      return (readRegularFile(join(folder, name)) ?? "").slice(0, 100_000);
    } catch {
      // Not a git folder, or another kind of one.
      return "";
    }
  };
  const worktree = /^\s*worktree\s*=\s*(.+)$/m.exec(text("config"))?.[1]?.trim();
  if (worktree !== undefined && realOf(resolve(folder, worktree)) === root) return true;
  const back = text("gitdir").trim();
  return back !== "" && realOf(resolve(folder, back)) === join(root, ".git");
}

/** Whether a folder is the top of a repository. An empty `.git` is none, and in a folder that everyone may write anyone can make one. */
function isTop(folder: string): boolean {
  const git = join(folder, ".git");
  const stat = statSync(git, { throwIfNoEntry: false });
  if (!stat || (!stat.isFile() && !existsSync(join(git, "HEAD")))) return false;
  return (statSync(folder).mode & WRITABLE_FOR_ALL) === 0;
}

/** The repository around the workspace, and its git folders elsewhere. */
function repositoryPlaces(root: string, homes: readonly string[]): string[] {
  const found: string[] = [];
  let top = root;
  while (!isTop(top) && dirname(top) !== top) top = dirname(top);
  if (isTop(top) && !isTooMuch(top, homes)) found.push(top);
  const [own, common] = gitFolders(root).filter((folder) => !isInside(root, folder));
  if (own !== undefined && !isInside(top, own) && knowsWorkspace(own, top)) {
    const isPart = common === undefined || isInside(common, own);
    found.push(own, ...(common !== undefined && isPart ? [common] : []));
  }
  return found.filter((path) => path !== root);
}

/** Folders of the system that are searched for private files, how deep, and whether dotted files are private. */
const SEARCHED: readonly { at: string; depth: number; dotted: boolean }[] = [
  { at: "/etc", depth: 8, dotted: false },
  { at: "/private/etc", depth: 8, dotted: false },
  { at: "/usr/local", depth: 3, dotted: true },
  { at: "/opt", depth: 3, dotted: true },
];
const MOST_SEARCHED = 20_000;
const WRITABLE_FOR_ALL = 0o002;
const READABLE_FOR_OTHERS = 0o004;
/** Folders of installed files, which have no secrets and many entries. */
const INSTALLED = new Set([
  "lib",
  "lib64",
  "libexec",
  "share",
  "include",
  "bin",
  "sbin",
  "node_modules",
  "man",
]);

/**
 * Files and folders of the system that other users may not read but this one may, a superuser above all, and among installed
 * programs dotted files (`.env`, `.netrc`). A folder that is beyond the bound is hidden as a whole.
 */
function privateParts(): string[] {
  const found: string[] = [];
  let seen = 0;
  const search = (folder: string, depth: number, dotted: boolean): void => {
    for (const entry of entriesIn(folder)) {
      if (entry.isSymbolicLink() || (dotted && INSTALLED.has(entry.name))) continue;
      const path = `${folder}/${entry.name}`;
      // What this user cannot reach a command cannot reach either.
      const stat = attempt(() => lstatSync(path));
      if (!stat || stat.isSymbolicLink()) continue;
      seen += 1;
      if (
        (stat.mode & READABLE_FOR_OTHERS) === 0 ||
        (dotted && entry.name.startsWith(".") && stat.isFile())
      ) {
        if (stat.isDirectory() || stat.size > 0) found.push(path);
      } else if (stat.isDirectory() && seen > MOST_SEARCHED) found.push(path);
      else if (stat.isDirectory() && depth > 1) search(path, depth - 1, dotted);
    }
  };
  for (const { at, depth, dotted } of SEARCHED) {
    if (lstatSync(at, { throwIfNoEntry: false })?.isDirectory()) search(at, depth, dotted);
  }
  const readable = found.filter((path) => isReadable(path)).map(wholeService);
  return [...new Set(readable)];
}

const PRIVATE_PARTS_MS = 60_000;
// Kept for a minute with the environment of each host, since a tool set is made for each turn and the search takes 10 to 20 ms.
const searched = new WeakMap<Env, { at: number; parts: readonly string[] }>();

function recentPrivateParts(env: Env): readonly string[] {
  const known = searched.get(env);
  if (known && performance.now() - known.at < PRIVATE_PARTS_MS) return known.parts;
  const parts = privateParts();
  searched.set(env, { at: performance.now(), parts });
  return parts;
}

/** Folders of `/etc` that programs of every kind read; of these only the private parts are hidden. */
const READ_BY_ALL = new Set(
  "ssl pki ca-certificates ssh security default alternatives fonts X11 profile.d apt dpkg npm".split(" "),
);

/** A service with a private part in its folder of `/etc` is hidden as a whole: for "/etc/dovecot/private/x" "/etc/dovecot". */
function wholeService(path: string): string {
  const [, top = "", service = "", ...rest] = path.split("/");
  return top !== "etc" || rest.length === 0 || READ_BY_ALL.has(service) ? path : `/etc/${service}`;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    // Not for this user, so a command could not read it either.
    return false;
  }
}

/** Entries of a home that is, or is in, the workspace: those with a dot, and `Library`, belong to programs and not to a project. */
function ownEntries(home: string): string[] {
  return namesIn(home)
    .filter((name) => name.startsWith(".") || name === "_netrc" || name === "Library")
    .filter((name) => ![".git", ".gitignore", ".gitattributes", ".gitmodules", ".github"].includes(name))
    .map((name) => join(home, name));
}

/** Whether parts of the workspace itself may be hidden: it holds a home, or a folder of the system. */
export function mayHideParts(root: string, env: Env): boolean {
  const places = [...homesOf(env), ...SEARCHED.map(({ at }) => at)];
  return places.some((place) => isInside(root, place)) || SEARCHED.some(({ at }) => isInside(at, root));
}

/** `root`: the workspace; absolute, without links. */
export function shownPlaces(root: string, env: Env): ShownPlaces {
  const homes = homesOf(env);
  const parts = homes.flatMap((home) => TOOLCHAINS.map((each) => toolchainPlaces(each, home, env, homes)));
  const system = SYSTEM_PLACES[process.platform === "darwin" ? "darwin" : "linux"].filter((path) =>
    existsSync(path),
  );
  const shown = [
    ...system,
    // Host names are resolved through a file that may be elsewhere, for example in /run.
    ...[realOf("/etc/resolv.conf")].filter((path) => path !== undefined),
    ...parts.flatMap((part) => part.shown),
    ...programPlaces(env, homes),
    ...repositoryPlaces(root, homes),
  ];
  // The workspace itself is writable, but for the programs of a home in it.
  const outer = shown.filter(
    (path) => !isInside(root, path) || homes.some((home) => isInside(root, home) && isInside(home, path)),
  );
  const inside = homes.flatMap((home) => {
    if (home === root) return ownEntries(home);
    return isInside(root, home) ? [home] : [];
  });
  const hidden = [...parts.flatMap((part) => part.hidden), ...recentPrivateParts(env), ...inside];
  return { shown: [...new Set(outer)], hidden: [...new Set(hidden)] };
}
