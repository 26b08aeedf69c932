import { errorText } from "../data/error-text.ts";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";

const REASONS: Record<string, string> = {
  ENOSPC: "the disk is full; free some space and try again",
  EDQUOT: "the disk quota is used up; free some space and try again",
  EFBIG: "a limit on the size of files was reached; raise it and try again",
  EROFS: "the file system is read-only; make it writable or choose another PAGURUS_HOME",
  EACCES: "this user may not write there; check the owner and mode of the folder",
  EPERM: "this user may not write there; check the owner and mode of the folder",
  ENOTDIR: "a part of its path is a file, not a folder; check PAGURUS_HOME",
  EEXIST: "a file is in its place, not a folder; check PAGURUS_HOME",
  ENOENT: "it no longer exists; check whether the folder was removed",
  EMFILE: "too many files are open; raise the limit and try again",
};

/** SQLite's error code instead of `ENOSPC`. */
const SQLITE_FULL = 13;

/** Why the system refused a write and what to do, as the end of a sentence without its full stop. */
export function writeReason(error: unknown): string {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  const name = errcode === SQLITE_FULL ? "ENOSPC" : code;
  const known = typeof name === "string" ? REASONS[name] : undefined;
  return known ?? errorText(error);
}

/** SQLite codes that hide the system's own: read-only, input and output, full, cannot open. */
const HIDING: readonly number[] = [8, 10, SQLITE_FULL, 14];
const PROBE_BYTES = 64 * 1024;

/** As `writeReason`; where SQLite hides the system's error, it is found by a test write in the file's folder. */
export function writeReasonAt(error: unknown, file: string): string {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  const isHidden = typeof errcode === "number" && HIDING.includes(errcode & 0xff);
  return writeReason(isHidden ? (writeRefusal(dirname(file)) ?? error) : error);
}

/** The system's error for a small test file in a folder, which is removed again; undefined if it succeeds. */
function writeRefusal(folder: string): unknown {
  const probe = join(folder, `.probe.${process.pid}.tmp`);
  try {
    const fd = openSync(probe, "w", 0o600);
    try {
      writeAll(fd, Buffer.alloc(PROBE_BYTES));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
      rmSync(probe, { force: true });
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Creates a folder (and its parents) that only the user can enter. Throws `store_write_failed`. */
export function ensurePrivateDir(path: string): void {
  // One by one: the recursive call hides the reason (a read-only file system is "ENOENT"), and loops on some special ones.
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

/** False when nothing exists there. Throws the system's errors, `EEXIST` for a file. */
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
    // Another process created it in the meantime.
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && isFolder(path)) return;
    throw error;
  }
}

/** Writes every byte of `data` at the file's end or `position`, also when the system writes it in parts. */
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

/** Age after which a temporary file counts as abandoned, even if a process has its pid now, ms. */
const ABANDONED_MS = 10 * 60_000;

/**
 * Removes the temporary files of killed writers of this file: they contain the same secrets. Never throws; what cannot be
 * removed is left for the next call.
 */
export function sweepTemporaries(path: string): void {
  const folder = dirname(path);
  const start = `.${basename(path)}.`;
  try {
    for (const name of readdirSync(folder)) {
      const pid = name.startsWith(start) ? /^(\d+)\.tmp$/.exec(name.slice(start.length))?.[1] : undefined;
      if (pid === undefined || Number(pid) === process.pid) continue;
      const file = join(folder, name);
      const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (!isAlive(Number(pid)) || age > ABANDONED_MS) rmSync(file, { force: true });
    }
  } catch {
    // The folder does not exist, or this user may not change it.
    return;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Replaces a file as a whole: readers see the old bytes or the new ones. Durable when it returns, unless `synced` is false:
 * then a power cut may restore the old ones. Mode 0600.
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
