/** Rules for what checkpoints leave out: what is made again by a program, what is too large, and git's own folder. */
import { lstatSync } from "node:fs";
import { onDisk } from "../tool/changes/manifest.ts";

/** Folders that a package manager or an interpreter fills. */
const DEPENDENCIES: ReadonlySet<string> = new Set([
  "node_modules",
  "bower_components",
  ".venv",
  "venv",
  "__pycache__",
  ".tox",
  ".mypy_cache",
  ".pytest_cache",
  ".ruff_cache",
  ".gradle",
  ".terraform",
  ".pnpm-store",
]);
/** The file that marks a folder as a cache, by the Cache Directory Tagging Specification: cargo's `target` has one. */
const CACHE_TAG = "CACHEDIR.TAG";
const TEMPORARY = /^\.pagurus-(?:restore-)?[0-9a-f-]+\.tmp$/;

/** Largest file that is kept, bytes. */
export const LARGEST_FILE = 16 * 1024 * 1024;

/** Why a folder is left out, or undefined. `path` is absolute and of single bytes. */
export function folderLeftOut(path: string, name: string): string | undefined {
  if (name.toLowerCase() === ".git") return "git's own";
  if (DEPENDENCIES.has(name)) return "dependencies";
  const isCache = lstatSync(onDisk(`${path}/${CACHE_TAG}`), { throwIfNoEntry: false })?.isFile() === true;
  return isCache ? "a cache" : undefined;
}

/** Why a file or link is left out, or undefined. */
export function fileLeftOut(name: string, size: number): string | undefined {
  if (name.toLowerCase() === ".git") return "git's own";
  if (TEMPORARY.test(name)) return "a temporary file of Pagurus";
  return size > LARGEST_FILE ? `${Math.ceil(size / 1024 / 1024)} MB` : undefined;
}
