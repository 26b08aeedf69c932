/** The files of a folder, in an order that depends on their names alone. */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { parseGitignore, type IgnoreTest } from "./gitignore.ts";
import { isRepository } from "./repository.ts";
import { systemCode, ToolError } from "./tool-error.ts";

/** Folders that are never looked into, unless the caller starts inside one. */
export const SKIPPED_FOLDERS: readonly string[] = [".git", "node_modules"];
/** Folders and files looked at before a walk gives up. */
const MOST_ENTRIES = 200_000;

interface IgnoreScope {
  folder: string;
  test: IgnoreTest;
}

function ignoreScope(folder: string): IgnoreScope | undefined {
  try {
    return { folder, test: parseGitignore(readFileSync(join(folder, ".gitignore"), "utf8")) };
  } catch {
    // None here, or one that cannot be read: nothing of this folder is ignored.
    return undefined;
  }
}

/** The ignore files above a folder, outermost first, up to the root of its repository. */
function outerScopes(folder: string): IgnoreScope[] {
  const scopes: IgnoreScope[] = [];
  let at = folder;
  while (!isRepository(at) && dirname(at) !== at) {
    at = dirname(at);
    const scope = ignoreScope(at);
    if (scope) scopes.unshift(scope);
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
 * Yields absolute paths of files (and links, which are not followed) below `start`, each folder's names in code
 * unit order. Leaves out what `.gitignore` files name and `SKIPPED_FOLDERS`. Throws `ToolError` for a folder that
 * cannot be read at the start or a tree that is too large; `AbortError` with the signal.
 */
export async function* walkFiles(start: string, signal: AbortSignal): AsyncGenerator<string, void, void> {
  let seen = 0;
  async function* walk(folder: string, outer: readonly IgnoreScope[]): AsyncGenerator<string, void, void> {
    const own = ignoreScope(folder);
    const scopes = own ? [...outer, own] : outer;
    let entries;
    try {
      entries = await readdir(folder, { withFileTypes: true });
    } catch (error) {
      if (folder === start)
        throw new ToolError(`The folder cannot be read: ${systemCode(error) ?? "unknown"}.`);
      return;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
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
  yield* walk(start, outerScopes(start));
}
