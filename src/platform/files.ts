import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { PagurusError } from "../contract/errors.ts";

const REASONS: Record<string, string> = {
  ENOSPC: "the disk is full; free some space and try again",
  EDQUOT: "the disk quota is used up; free some space and try again",
  EFBIG: "a limit on the size of files was reached; raise it and try again",
  EROFS: "the file system is read-only; make it writable or choose another PAGURUS_HOME",
  EACCES: "this user may not write there; check the owner and mode of the folder",
  EPERM: "this user may not write there; check the owner and mode of the folder",
  ENOTDIR: "a part of its path is a file, not a folder; check PAGURUS_HOME",
  EEXIST: "a file is in its place, not a folder; check PAGURUS_HOME",
  ENOENT: "it is not there any more; check whether something removed the folder",
  EMFILE: "too many files are open; raise the limit and try again",
};

/** What SQLite says instead of `ENOSPC`. */
const SQLITE_FULL = 13;

/** Why the system refused a write and what to do, as the end of a sentence without its full stop. */
export function writeReason(error: unknown): string {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  const name = errcode === SQLITE_FULL ? "ENOSPC" : code;
  const known = typeof name === "string" ? REASONS[name] : undefined;
  return known ?? (error instanceof Error ? error.message : String(error));
}

/** Creates a folder (and its parents) that only the user can enter. Throws `store_write_failed`. */
export function ensurePrivateDir(path: string): void {
  // One by one: the recursive call hides why (a read-only file system is "ENOENT"), and loops on some special ones.
  const missing: string[] = [];
  try {
    for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at);
    for (const folder of missing.toReversed()) makeFolder(folder);
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw new PagurusError("store_write_failed", `Cannot create the folder ${path}: ${writeReason(error)}.`, {
      cause: error,
      details: { file: path, code },
    });
  }
}

/** False when nothing is there. Throws what the system says, `EEXIST` for a file. */
function isFolder(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) return false;
  if (stats.isDirectory()) return true;
  throw Object.assign(new Error(`${path} is a file.`), { code: "EEXIST" });
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process made it in the meantime.
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && isFolder(path)) return;
    throw error;
  }
}

/** Writes every byte of `data` at the file's end or `position`, also when the system takes it in parts. */
export function writeAll(fd: number, data: Uint8Array, position: number | null = null): void {
  let written = 0;
  while (written < data.length) {
    written += writeSync(
      fd,
      data,
      written,
      data.length - written,
      position === null ? null : position + written,
    );
  }
}

export function fsyncDir(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces a file as a whole: readers see the old bytes or the new ones. Durable when it returns, unless `synced` is
 * false: then a power cut may bring the old ones back. Mode 0600.
 */
export function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  { synced = true }: { synced?: boolean } = {},
): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  try {
    const fd = openSync(temporary, "w", 0o600);
    try {
      writeAll(fd, bytes);
      if (synced) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  if (synced) fsyncDir(dirname(path));
}
