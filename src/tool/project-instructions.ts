/** Project instructions: `AGENTS.md` (else `CLAUDE.md`) of the working folder and its parents. */
import { plainText } from "../data/plain-text.ts";
import { closeSync, existsSync, fstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { openInPlaceSync } from "../platform/open-in-place.ts";
import { isRepository } from "../platform/repository.ts";
import { systemCode } from "./tool-error.ts";
import { isInside } from "./places/workspace-boundary.ts";

export interface ProjectInstructions {
  /** Absolute. */
  path: string;
  /** Empty where the file is unreadable. */
  text: string;
  /** Set for a file that was too long: its size, and the bytes of it in `text`. */
  cut?: { fromBytes: number; toBytes: number };
  /** Why the file could not be read, as the end of a sentence. */
  unreadable?: string;
}

const NAMES = ["AGENTS.md", "CLAUDE.md"];
/** Size limit of one file; a longer one is cut, and the text notes it. */
const MOST_BYTES = 32 * 1024;

/** The folders from `cwd` up to `top`, outermost first. */
function foldersBetween(top: string, cwd: string): string[] {
  const folders = [cwd];
  for (let at = cwd; at !== top && dirname(at) !== at; at = dirname(at)) folders.unshift(dirname(at));
  return folders;
}

/**
 * The last parent folder to search: the root of the repository, else the home folder, else `cwd` itself. Beyond that, files may
 * belong to other people (`/tmp/AGENTS.md`).
 */
function topFolder(cwd: string, home: string): string {
  for (let at = cwd; ; at = dirname(at)) {
    if (isRepository(at)) return at;
    if (at === home) return home;
    if (dirname(at) === at) return cwd;
  }
}

function cutText(path: string, bytes: Buffer): ProjectInstructions {
  if (bytes.length <= MOST_BYTES) return { path, text: plainText(new TextDecoder("utf-8").decode(bytes)) };
  const head = new TextDecoder("utf-8").decode(bytes.subarray(0, MOST_BYTES), { stream: true });
  return {
    path,
    text: `${plainText(head)}\n[cut: the first ${MOST_BYTES} of ${bytes.length} bytes]`,
    cut: { fromBytes: bytes.length, toBytes: MOST_BYTES },
  };
}

/** Undefined without such a regular file. An unreadable one must not stop a turn. */
function readInstructions(path: string, top: string): ProjectInstructions | undefined {
  try {
    // Most folders have no such file, and an error takes longer than a look.
    if (!statSync(path, { throwIfNoEntry: false })) return undefined;
    const real = realpathSync.native(path);
    if (!isInside(top, real))
      return { path, text: "", unreadable: "it is a link that leads out of the project" };
    const fd = openInPlaceSync(real);
    try {
      return fstatSync(fd).isFile() ? cutText(path, readFileSync(fd)) : undefined;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const code = systemCode(error) ?? "an unknown error";
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { path, text: "", unreadable: `the system says ${code}` };
  }
}

/** Instructions of one folder: the first file with text, and unreadable ones before it. */
function instructionsOf(folder: string, top: string): ProjectInstructions[] {
  const found: ProjectInstructions[] = [];
  for (const name of NAMES) {
    const file = readInstructions(join(folder, name), top);
    if (!file || (file.unreadable === undefined && file.text.trim() === "")) continue;
    found.push(file);
    if (file.unreadable === undefined) break;
  }
  return found;
}

/**
 * Outermost first; the same files give the same bytes. Unreadable files are listed without text. Throws the system's error when
 * `cwd` does not exist.
 */
export function projectInstructions(
  cwd: string,
  options: { home?: string | undefined } = {},
): ProjectInstructions[] {
  const start = realpathSync.native(cwd);
  const home = options.home ?? homedir();
  const top = topFolder(start, existsSync(home) ? realpathSync.native(home) : home);
  return foldersBetween(top, start).flatMap((folder) => instructionsOf(folder, top));
}
