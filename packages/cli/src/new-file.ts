import { closeSync, fsyncSync, linkSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { fsyncDir, writeAll } from "@pagurus/core/platform/atomic-files";
import { usageError } from "./cli-failure.ts";

function cause(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : getSystemErrorMessage(errno);
}

function existsError(name: string): PagurusError {
  return usageError(`The file "${name}" exists already; remove it or choose another name.`);
}

/** Creates a file that must not exist. Throws `usage_invalid` where the folder refuses it. */
function create(path: string, name: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    const what = `The file "${name}" cannot be created (${cause(error)}); choose another place.`;
    throw new PagurusError("usage_invalid", what, { cause: error });
  }
}

/** Renames a complete file to its name without ever replacing another. */
function publish(temporary: string, path: string, name: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw existsError(name);
    // The file system has no hard links.
    renameSync(temporary, path);
    return;
  }
  rmSync(temporary, { force: true });
}

/**
 * Writes a new private file that appears under its name only when it is completely on the disk. Returns its size in bytes.
 * Throws `usage_invalid` when it exists or cannot be created, `store_write_failed` when it cannot be written; then no part of
 * it remains.
 */
export async function writeNewFile(
  cwd: string,
  name: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<number> {
  const path = resolve(cwd, name);
  if (lstatSync(path, { throwIfNoEntry: false })) throw existsError(name);
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  const fd = create(temporary, name);
  let size = 0;
  try {
    try {
      for await (const chunk of chunks) {
        writeAll(fd, chunk);
        size += chunk.length;
      }
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    publish(temporary, path, name);
  } catch (error) {
    rmSync(temporary, { force: true });
    if (isPagurusError(error)) throw error;
    const what = `The file "${name}" cannot be written (${cause(error)}), so no part of it was kept; free disk space or choose another place.`;
    throw new PagurusError("store_write_failed", what, { cause: error });
  }
  fsyncDir(dirname(path));
  return size;
}
