/**
 * Opens files and folders by descriptor. A checked path may lead elsewhere a moment later, when another process replaces a
 * folder on it by a link; a descriptor cannot. The opened file is compared with the intended path, and whatever is created in a
 * folder is created through its descriptor.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Non-blocking: a named pipe must not block the process. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

/** The opened file is not at the intended path: a folder on it was replaced meanwhile. */
class MovedError extends Error {
  override readonly name = "MovedError";
  readonly code = "EMOVED";
}

function descriptorPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/**
 * Whether the system shows where an open file is (Linux with `/proc`). Elsewhere the path is checked again after opening, which
 * leaves a short window for a race with another process.
 */
export function showsOpenFiles(): boolean {
  if (process.platform !== "linux") return false;
  let fd: number | undefined;
  try {
    fd = openSync("/", FOLDER);
    return readlinkSync(descriptorPath(fd)) === "/";
  } catch {
    // A system without /proc.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The system's path of an open file; undefined if it is not available. */
function placeOf(fd: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return readlinkSync(descriptorPath(fd));
  } catch {
    // A system without /proc.
    return undefined;
  }
}

/** Whether the descriptor is the file that is (or was, until its removal) at a path without links. */
function isAt(fd: number, path: string): boolean {
  const place = placeOf(fd);
  if (place !== undefined) return place === path || place === `${path} (deleted)`;
  try {
    const [opened, there] = [fstatSync(fd), lstatSync(path)];
    return realpathSync.native(path) === path && opened.ino === there.ino && opened.dev === there.dev;
  } catch {
    // It was removed, or a part of its path was.
    return false;
  }
}

function moved(path: string): MovedError {
  return new MovedError(`${path} was replaced while it was opened.`);
}

/** Opens `path`, which is absolute and free of links, for reading. Throws `MovedError` and the system's errors. */
export async function openInPlace(path: string): Promise<FileHandle> {
  const file = await open(path, READ);
  if (isAt(file.fd, path)) return file;
  await file.close();
  throw moved(path);
}

/** Synchronous `openInPlace`. The caller closes the descriptor. */
export function openInPlaceSync(path: string): number {
  const fd = openSync(path, READ);
  if (isAt(fd, path)) return fd;
  closeSync(fd);
  throw moved(path);
}

/** A folder held by descriptor: it stays the same one, whatever its path leads to. Close it. */
export class OpenFolder {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #base: string;

  constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
    this.#base = placeOf(handle.fd) === undefined ? path : descriptorPath(handle.fd);
  }

  /** The path for a name in this folder. */
  at(name: string): string {
    return join(this.#base, name);
  }

  /** The path for listing it. */
  get listed(): string {
    return `${this.#base}/.`;
  }

  /** A file in it, for reading. Throws the system's errors. */
  file(name: string): Promise<FileHandle> {
    return open(this.at(name), READ);
  }

  /** Throws `MovedError` if the folder is no longer at its path. */
  check(): void {
    if (!isAt(this.#handle.fd, this.path)) throw moved(this.path);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

async function checkedFolder(path: string, opened: string): Promise<OpenFolder> {
  const folder = new OpenFolder(path, await open(opened, FOLDER));
  try {
    folder.check();
    return folder;
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/** Opens the folder at `path`, which is absolute and free of links. Throws `MovedError` and the system's errors. */
export function openFolder(path: string): Promise<OpenFolder> {
  return checkedFolder(path, path);
}

/** As `openFolder`; creates the folder and its missing parents, each in the one opened before. */
export async function makeFolder(path: string): Promise<OpenFolder> {
  try {
    return await openFolder(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
  }
  const parent = await makeFolder(dirname(path));
  try {
    const inside = parent.at(basename(path));
    await mkdir(inside).catch((error: unknown) => {
      // Another call created it in the meantime.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    });
    return await checkedFolder(path, inside);
  } finally {
    await parent.close();
  }
}
