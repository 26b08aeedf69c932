/** Facts about a plugin, collected without running it and shown before it is enabled. */
import { isInside } from "@pagurus/core/platform/inside";
import { errorText } from "@pagurus/core/data/error-text";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";

export interface PackageFacts {
  /** Number of packages installed with it. */
  dependencies: number;
  /** Names of the packages that have install scripts, the plugin's own included. */
  scripts: string[];
  /** Whether it contains compiled code. */
  native: boolean;
  /** On the disk. */
  bytes: number;
}

const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall"];
/** More files than any plugin needs. */
const MAX_FILES = 200_000;

interface LockedPackage {
  version?: unknown;
  integrity?: unknown;
  hasInstallScript?: unknown;
  link?: unknown;
}

/** Inspects the folder that npm filled. Throws `plugin_invalid` when a link leads out of it, `plugin_install_failed`. */
export function inspectInstall(folder: string, name: string): PackageFacts {
  const packages = Object.entries(readLock(folder)).filter(([path]) => path !== "");
  const scripts = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  return {
    dependencies: packages.filter(([path]) => path !== `node_modules/${name}`).length,
    scripts: scripts.map(([path]) => packageName(path)),
    ...inspectFiles(folder, { all: true }),
  };
}

/** Describes a linked plugin: a folder, or one file. Never throws. */
export function describeLink(path: string): { facts?: PackageFacts; problem?: string } {
  try {
    if (!statSync(path).isDirectory())
      return { facts: { dependencies: 0, scripts: [], native: false, bytes: statSync(path).size } };
    const file = join(path, "package.json");
    const pkg = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>) : {};
    return { facts: inspectFolder(path, pkg) };
  } catch (error) {
    return { problem: errorText(error) };
  }
}

/** Inspects a linked folder; counts the dependencies it names, because it may have others for its tests. */
function inspectFolder(folder: string, pkg: Record<string, unknown>): PackageFacts {
  const scripts = pkg["scripts"];
  const has = INSTALL_SCRIPTS.some(
    (name) => typeof scripts === "object" && scripts !== null && Object.hasOwn(scripts, name),
  );
  const dependencies = pkg["dependencies"];
  return {
    dependencies:
      typeof dependencies === "object" && dependencies !== null ? Object.keys(dependencies).length : 0,
    scripts: has ? [typeof pkg["name"] === "string" ? pkg["name"] : "the plugin"] : [],
    ...inspectFiles(folder, { all: false }),
  };
}

/** npm's record of an installed package: version and integrity of the tarball. Throws `plugin_install_failed`. */
export function lockedPackage(folder: string, name: string): { version?: string; integrity?: string } {
  const { version, integrity } = readLock(folder)[`node_modules/${name}`] ?? {};
  return {
    ...(typeof version === "string" && { version }),
    ...(typeof integrity === "string" && { integrity }),
  };
}

function readLock(folder: string): Record<string, LockedPackage> {
  const file = join(folder, "package-lock.json");
  const { packages } = JSON.parse(readFileSync(file, "utf8")) as { packages?: Record<string, LockedPackage> };
  if (packages) return packages;
  throw new PagurusError(
    "plugin_install_failed",
    `${file} does not list the packages that npm installed; update npm and install the plugin again.`,
    { details: { file } },
  );
}

function packageName(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** Folders of a user's checkout that are not the plugin's. */
const NOT_ITS_OWN = new Set(["node_modules", ".git"]);

/** Size and kind of the files. Links are not followed; where all count, an outward link refuses the plugin. */
function inspectFiles(folder: string, { all }: { all: boolean }): { native: boolean; bytes: number } {
  const root = realpathSync(folder);
  const found = { native: false, bytes: 0 };
  const folders = [root];
  let files = 0;
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      if (!all && NOT_ITS_OWN.has(entry.name)) continue;
      const path = join(at, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (!entry.isSymbolicLink()) countFile(found, entry, path);
      else if (all) assertInside(root, path);
      files += 1;
      if (files > MAX_FILES) throw tooMany(folder);
    }
  }
  return found;
}

function countFile(found: { native: boolean; bytes: number }, entry: Dirent, path: string): void {
  if (!entry.isFile()) return;
  found.bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (entry.name.endsWith(".node") || entry.name === "binding.gyp") found.native = true;
}

function assertInside(root: string, link: string): void {
  let target: string;
  try {
    target = realpathSync(link);
  } catch {
    // A dangling link.
    return;
  }
  if (isInside(root, target)) return;
  throw new PagurusError(
    "plugin_invalid",
    `${link} is a symbolic link out of the plugin's folder; a plugin must hold its own files.`,
    { details: { link } },
  );
}

function tooMany(folder: string): PagurusError {
  return new PagurusError(
    "plugin_invalid",
    `${folder} holds more than ${MAX_FILES} files, which no plugin needs; report it to its author.`,
    { details: { folder } },
  );
}
