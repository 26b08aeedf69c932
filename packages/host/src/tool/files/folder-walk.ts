/** Walks the files of a folder, in an order that depends on their names only. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { openFolder, type OpenFolder } from "@pagurus/core/platform/open-in-place";
import { parseGitignore, type IgnoreTest } from "./gitignore.ts";
import { isRepository } from "@pagurus/core/platform/repository";
import { systemCode, ToolError } from "../tool-error.ts";

/** Folders that are skipped, unless the caller starts inside one. */
export const SKIPPED_FOLDERS: readonly string[] = [".git", "node_modules"];
/** Maximum number of entries visited. */
const MOST_ENTRIES = 200_000;
const MOST_IGNORE_BYTES = 1024 * 1024;

interface IgnoreScope {
  folder: string;
  test: IgnoreTest;
}

async function ignoreScope(folder: string, opened: OpenFolder): Promise<IgnoreScope | undefined> {
  let file;
  try {
    file = await opened.file(".gitignore");
  } catch {
    // None here, or a link, which git does not follow either.
    return undefined;
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > MOST_IGNORE_BYTES) return undefined;
    return { folder, test: parseGitignore(await file.readFile("utf8")) };
  } catch {
    // Unreadable: nothing of this folder is ignored.
    return undefined;
  } finally {
    await file.close();
  }
}

/** A folder's entries, in code unit order, and its ignore file. Throws the system's errors. */
async function lookInto(folder: string): Promise<{ entries: Dirent[]; scope: IgnoreScope | undefined }> {
  const opened = await openFolder(folder);
  try {
    const entries = await readdir(opened.listed, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { entries, scope: await ignoreScope(folder, opened) };
  } finally {
    await opened.close();
  }
}

/** The ignore files above a folder, outermost first, up to the root of its repository. */
async function outerScopes(folder: string): Promise<IgnoreScope[]> {
  const scopes: IgnoreScope[] = [];
  let at = folder;
  while (!isRepository(at) && dirname(at) !== at) {
    at = dirname(at);
    try {
      const opened = await openFolder(at);
      try {
        const scope = await ignoreScope(at, opened);
        if (scope) scopes.unshift(scope);
      } finally {
        await opened.close();
      }
    } catch {
      // A folder with traverse but without list permission has no readable rules.
      continue;
    }
  }
  return scopes;
}

function isIgnored(scopes: readonly IgnoreScope[], path: string, isFolder: boolean): boolean {
  for (const scope of scopes.toReversed()) {
    const verdict = scope.test(relative(scope.folder, path).split(sep).join("/"), isFolder);
    if (verdict !== undefined) return verdict;
  }
  return false;
}

/**
 * Yields absolute paths of files (and links, which are not followed) below `start`, each folder's names in code unit order.
 * Skips what `.gitignore` files name and `SKIPPED_FOLDERS`. Throws `ToolError` for an unreadable start folder or a tree that is
 * too large; `AbortError` with the signal.
 */
export async function* walkFiles(start: string, signal: AbortSignal): AsyncGenerator<string, void, void> {
  let seen = 0;
  async function* walk(folder: string, outer: readonly IgnoreScope[]): AsyncGenerator<string, void, void> {
    let found;
    try {
      found = await lookInto(folder);
    } catch (error) {
      if (folder === start)
        throw new ToolError(`The folder cannot be read: ${systemCode(error) ?? "unknown"}.`);
      return;
    }
    const { entries, scope } = found;
    const scopes = scope ? [...outer, scope] : outer;
    for (const entry of entries) {
      signal.throwIfAborted();
      if (++seen > MOST_ENTRIES) {
        throw new ToolError(`More than ${MOST_ENTRIES} files; give a "path" further down.`);
      }
      const path = join(folder, entry.name);
      const isFolder = entry.isDirectory();
      if ((isFolder && SKIPPED_FOLDERS.includes(entry.name)) || isIgnored(scopes, path, isFolder)) continue;
      if (isFolder) yield* walk(path, scopes);
      else if (entry.isFile() || entry.isSymbolicLink()) yield path;
    }
  }
  yield* walk(start, await outerScopes(start));
}
