/** Finds the folders of skills and commands, and reads files there without leaving them. */
import { plainText } from "@pagurus/core/data/plain-text";
import { closeSync, fstatSync, readdirSync, readSync, realpathSync, statSync, type Dirent } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";
import { openInPlaceSync } from "@pagurus/core/platform/open-in-place";

/** One folder to search. */
export interface Place {
  /** Absolute. */
  folder: string;
  /** Where links may lead: the workspace for its own folders, else the folder itself. Absolute. */
  within: string;
}

export interface Listed {
  /** Absolute, without symbolic links. */
  within: string;
  /** Sorted by name. */
  entries: Dirent[];
}

/** Whether a path is the folder or is inside it; both absolute. */
export function lies(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** Undefined when there is no such folder; `problem` is a sentence. */
export function listPlace(place: Place): Listed | { problem: string } | undefined {
  try {
    // Most places do not exist, and an error takes longer than a look.
    if (!statSync(place.folder, { throwIfNoEntry: false })) return undefined;
    const real = realpathSync.native(place.folder);
    const within = realpathSync.native(place.within);
    if (!lies(real, within))
      return { problem: `${place.folder} is a link that leads out of ${place.within}; it is not followed.` };
    const entries = readdirSync(real, { withFileTypes: true }).filter(({ name }) => !name.startsWith("."));
    return { within, entries: entries.toSorted(byName) };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { problem: `${place.folder} cannot be read: the system says ${code}.` };
  }
}

/**
 * The text of a file, at most `limit` bytes of it. Undefined when there is none; `problem` is the end of a sentence about the
 * file.
 */
export function readWithin(
  path: string,
  within: string,
  limit: number,
): { text: string; bytes: number; real: string } | { problem: string } | undefined {
  let file: number | undefined;
  try {
    const real = realpathSync.native(path);
    if (!lies(real, within)) return { problem: `it is a link that leads out of ${within}` };
    file = openInPlaceSync(real);
    const stat = fstatSync(file);
    if (!stat.isFile()) return { problem: "it is not a regular file" };
    const chunk = Buffer.alloc(Math.min(stat.size, limit));
    const bytesRead = readSync(file, chunk, 0, chunk.length, 0);
    return { text: chunk.toString("utf8", 0, bytesRead), bytes: stat.size, real };
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : { problem: `the system says ${code}` };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** One line of well-formed, visible characters: a file's description of itself must not look like something else. */
export function flat(text: string): string {
  return plainText(text.replaceAll(/\p{Cc}+/gu, " "))
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** Whether a path can appear in a line of instructions unchanged. */
export function isPlain(path: string): boolean {
  return plainText(path) === path && !/[\t\n]/.test(path);
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "an unknown error";
}
