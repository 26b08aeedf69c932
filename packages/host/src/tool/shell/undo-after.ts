/** What the sandbox puts into the workspace for the time of a command, and removes after it. */
import { lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, relative } from "node:path";
import { systemCode } from "../tool-error.ts";
import { withoutLinks } from "../places/workspace-boundary.ts";

const REASON = "it belongs to Pagurus; do not try another way";
/** Harmless contents of absent files of git: a shared folder that is the folder itself, and no settings. */
const HARMLESS: Readonly<Record<string, string>> = { commondir: ".\n", "config.worktree": "" };

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

function isHostFile(path: string): boolean {
  try {
    return lstatSync(path).isFile() && readFileSync(path, "utf8") === HARMLESS[basename(path)];
  } catch {
    // Removed already, by another command in the same folder.
    return false;
  }
}

/**
 * Creates harmless files where git looks for files that do not exist, so that they can be mounted read-only: a command could
 * create others, which the user's git would read at once. Returns those that exist now.
 */
export function putHarmless(absent: readonly string[]): string[] {
  return absent.filter((path) => {
    const content = HARMLESS[basename(path)];
    if (content === undefined) return false;
    try {
      writeFileSync(path, content, { flag: "wx" });
      return true;
    } catch {
      // One of a killed host, or of another command; in a folder that cannot be written the command cannot either.
      return isHostFile(path);
    }
  });
}

/** Removes them again. */
export function removeHarmless(paths: readonly string[]): void {
  for (const path of paths) if (isInPlace(path) && isHostFile(path)) rmSync(path, { force: true });
}

/** Removes files of Pagurus that a command made; returns a sentence for each. */
export function removeClosed(root: string, files: readonly string[]): string[] {
  return files
    .filter((path) => isInPlace(path) && exists(path))
    .map((path) => {
      const shown = relative(root, path);
      try {
        rmSync(path, { recursive: true, force: true });
        return `sandbox: the command's "${shown}" was removed: ${REASON}`;
      } catch (error) {
        return `sandbox: the command's "${shown}" could not be removed (${systemCode(error) ?? String(error)}): ${REASON}`;
      }
    });
}
