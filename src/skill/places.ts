/** Folders that skills and commands are looked for in, and reading what lies there without leaving them. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Dirent,
} from "node:fs";
import { isAbsolute, relative, sep } from "node:path";

/** One folder to look through. */
export interface Place {
  /** Absolute. */
  folder: string;
  /** Where links may lead: the workspace for its own folders, else the folder itself. Absolute. */
  within: string;
}

export interface Listed {
  /** Absolute, without symbolic links. */
  within: string;
  /** In the order of their names. */
  entries: Dirent[];
}

/** Whether a path is a folder or lies in it; both absolute. */
export function lies(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** Undefined where there is no such folder; `problem` is a sentence. */
export function listPlace(place: Place): Listed | { problem: string } | undefined {
  try {
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
 * The text of a file, at most `limit` bytes of it. Undefined where there is none; `problem` is the end of a sentence
 * about the file.
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
    // Not blocking: a named pipe must not hang the turn.
    file = openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) return { problem: "it is no regular file" };
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

/** Joiners belong to letters and emoji; other characters that nobody sees can only hide something. */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;
const UNSEEN_OR_SPACE = new RegExp(`(?:\\s|${UNSEEN.source})+`, "gu");

/** One line of whole, visible characters: what a file says of itself must not look like something else. */
export function flat(text: string): string {
  return text.toWellFormed().replace(UNSEEN_OR_SPACE, " ").trim();
}

/** Whether a path can stand in a line of instructions as it is. */
export function isPlain(path: string): boolean {
  return !UNSEEN.test(path);
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "an unknown error";
}
