/** Project instructions: `AGENTS.md` (else `CLAUDE.md`) of the working folder and of the folders above it. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isInside } from "./workspace.ts";

export interface ProjectInstructions {
  /** Absolute. */
  path: string;
  text: string;
}

const NAMES = ["AGENTS.md", "CLAUDE.md"];
/** Of one file; what is longer is cut, and the text says so. */
const MOST_BYTES = 32 * 1024;

/** The folders from `cwd` up to `top`, outermost first. */
function foldersBetween(top: string, cwd: string): string[] {
  const folders = [cwd];
  for (let at = cwd; at !== top && dirname(at) !== at; at = dirname(at)) folders.unshift(dirname(at));
  return folders;
}

/**
 * Where the way up ends: the root of the repository, else the home folder, else `cwd` itself. Beyond that, files
 * may belong to other people (`/tmp/AGENTS.md`).
 */
function topFolder(cwd: string, home: string): string {
  for (let at = cwd; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === home) return home;
    if (dirname(at) === at) return cwd;
  }
}

function cutText(bytes: Buffer): string {
  if (bytes.length <= MOST_BYTES) return new TextDecoder("utf-8").decode(bytes);
  const head = new TextDecoder("utf-8").decode(bytes.subarray(0, MOST_BYTES), { stream: true });
  return `${head}\n[cut: the first ${MOST_BYTES} of ${bytes.length} bytes]`;
}

/** Undefined where there is no such regular file, or a link leads out of the tree. */
function readInstructions(path: string, top: string): string | undefined {
  try {
    const real = realpathSync.native(path);
    if (!isInside(top, real) || !statSync(real).isFile()) return undefined;
    return cutText(readFileSync(real));
  } catch {
    // Instructions are a help; one that cannot be read must not stop a turn.
    return undefined;
  }
}

/** Outermost first; the same files give the same bytes. Throws what the system throws when `cwd` does not exist. */
export function projectInstructions(
  cwd: string,
  options: { home?: string | undefined } = {},
): ProjectInstructions[] {
  const start = realpathSync.native(cwd);
  const home = options.home ?? homedir();
  const top = topFolder(start, existsSync(home) ? realpathSync.native(home) : home);
  return foldersBetween(top, start).flatMap((folder) => {
    for (const name of NAMES) {
      const path = join(folder, name);
      const text = readInstructions(path, top);
      if (text !== undefined && text.trim() !== "") return [{ path, text }];
    }
    return [];
  });
}
