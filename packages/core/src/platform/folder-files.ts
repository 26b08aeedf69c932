/** Finds files of a folder that a program of another maker starts from: settings, hooks, extensions. */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "../data/attempt.ts";
import { repositoryRoot } from "./repository.ts";
import { realPath } from "./real-path.ts";
import { readRegularFile } from "./regular-file.ts";

export interface FolderFile {
  /** Path of a file or folder in the working folder or one above it, for example `.qwen`. */
  name: string;
  /** Only a file whose text this matches, or that cannot be read. */
  holding?: RegExp;
}

/**
 * Paths of those that exist in the working folder, or in one above it up to the root of its repository; never in the home or above it.
 * Folders with nothing in them do not count: the sandbox of Codex leaves an empty `.agents` in `/tmp`.
 */
export function folderFiles(cwd: string, files: readonly FolderFile[], home: string): string[] {
  return placesOf(cwd, home).flatMap((folder) =>
    files
      .map(({ name, holding }) => ({ path: join(folder, name), holding }))
      .filter(({ path }) => isFilled(path))
      .filter(({ path, holding }) => holding === undefined || isHeld(path, holding))
      .map(({ path }) => path),
  );
}

/** Whether it exists and is not an empty folder; a folder that cannot be listed may have files. */
function isFilled(path: string): boolean {
  const found = attempt(() => statSync(path, { throwIfNoEntry: false }));
  if (!found?.isDirectory()) return found !== undefined;
  return attempt(() => readdirSync(path))?.length !== 0;
}

function isHeld(path: string, holding: RegExp): boolean {
  const text = attempt(() => readRegularFile(path));
  return text === undefined || holding.test(text);
}

function placesOf(cwd: string, home: string): string[] {
  const [folder, end] = [realPath(cwd), realPath(home)];
  const root = repositoryRoot(folder);
  const places: string[] = [];
  for (let at = folder; at !== end && dirname(at) !== at; at = dirname(at)) {
    places.push(at);
    if (at === root) break;
  }
  return places;
}
