/** Opens, reads and replaces files of resolved paths by descriptor, so that the checked file is the used one. */
import { TextDecoder } from "node:util";
import { randomBytes } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { open, readdir, rename, rm, type FileHandle } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { makeFolder, openFolder, openInPlace, type OpenFolder } from "@pagurus/core/platform/open-in-place";
import { systemCode, ToolError } from "../tool-error.ts";
import { textLikeness } from "./near-match.ts";
import type { WorkspacePath } from "../places/workspace-boundary.ts";

const MOST_SUGGESTIONS = 3;
const LEAST_LIKENESS = 0.6;
/** Bytes that are checked to distinguish text from binary. */
const SNIFFED_BYTES = 8_192;

export function isBinary(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, SNIFFED_BYTES);
  const utf16 = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff);
  return !utf16 && start.includes(0);
}

/** Decoder chosen by the byte order mark, default UTF-8; the mark is dropped, invalid bytes are replaced. */
export function textDecoderFor(bytes: Uint8Array): TextDecoder {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le");
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be");
  return new TextDecoder("utf-8");
}

/** Similar names in the same folder. */
async function similarNames(path: string): Promise<string> {
  const wanted = basename(path).toLowerCase();
  let names: string[];
  try {
    const folder = await openFolder(dirname(path));
    try {
      names = await readdir(folder.listed);
    } finally {
      await folder.close();
    }
  } catch {
    return " Its folder does not exist either.";
  }
  const similar = names
    .map((name) => ({ name, score: textLikeness(name.toLowerCase(), wanted) }))
    .filter(({ score }) => score >= LEAST_LIKENESS)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_SUGGESTIONS)
    .map(({ name }) => name);
  return similar.length > 0 ? ` Similar names there: ${similar.join(", ")}.` : "";
}

async function explain(error: unknown, at: WorkspacePath, doing: string): Promise<ToolError> {
  if (error instanceof ToolError) return error;
  const code = systemCode(error);
  if (code === "ENOENT") {
    return new ToolError(`"${at.shown}" does not exist.${await similarNames(at.path)}`);
  }
  if (code === "EMOVED") {
    return new ToolError(
      `A folder on the way to "${at.shown}" was replaced meanwhile; nothing was ${doing}. Try again when nothing else changes it.`,
    );
  }
  if (code === "ELOOP") return new ToolError(`"${at.shown}" has become a symbolic link; it is not followed.`);
  if (code === "EISDIR") return new ToolError(`"${at.shown}" is a folder.`);
  if (code === "ENOTDIR") return new ToolError(`A part of "${at.shown}" is a file, not a folder.`);
  if (code === "EACCES" || code === "EPERM")
    return new ToolError(`"${at.shown}": permission denied by the system.`);
  if (code === "ENOSPC") return new ToolError(`"${at.shown}" cannot be written: the disk is full.`);
  if (code === "EROFS")
    return new ToolError(`"${at.shown}" cannot be written: the file system is read-only.`);
  return new ToolError(`"${at.shown}" could not be ${doing}: ${code ?? String(error)}.`);
}

/** Passes an open regular file to `work` and closes it. Throws `ToolError`. */
export async function withFile<T>(
  at: WorkspacePath,
  work: (file: FileHandle, size: number) => Promise<T>,
): Promise<T> {
  let file: FileHandle | undefined;
  try {
    file = await openInPlace(at.path);
    const stat = await file.stat();
    if (stat.isDirectory()) throw new ToolError(`"${at.shown}" is a folder; use glob to list it.`);
    if (!stat.isFile()) throw new ToolError(`"${at.shown}" is not a regular file.`);
    return await work(file, stat.size);
  } catch (error) {
    throw await explain(error, at, "read");
  } finally {
    await file?.close();
  }
}

interface Existing {
  mode: number;
  uid: number;
  gid: number;
}

/** Properties of the old file that a new version keeps; undefined if there is none. */
async function existingFile(folder: OpenFolder, at: WorkspacePath): Promise<Existing | undefined> {
  const name = basename(at.path);
  let file: FileHandle;
  try {
    file = await folder.file(name);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new ToolError(`"${at.shown}" is not a regular file.`);
    // A rename would replace a write-protected file without permission.
    accessSync(folder.at(name), constants.W_OK);
    return { mode: stat.mode & 0o7777, uid: stat.uid, gid: stat.gid };
  } finally {
    await file.close();
  }
}

/**
 * Throws as `replaceFile` would for a path that cannot be written, and changes nothing. For work that costs something and whose result is
 * written afterwards.
 */
export async function checkReplaceable(at: WorkspacePath): Promise<void> {
  let folder: OpenFolder | undefined;
  try {
    folder = await nearestFolder(dirname(at.path));
    if (folder.path === dirname(at.path)) await existingFile(folder, at);
    accessSync(folder.listed, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw await explain(error, at, "written");
  } finally {
    await folder?.close();
  }
}

/** The folder, or the nearest one above it that exists. */
async function nearestFolder(path: string): Promise<OpenFolder> {
  try {
    return await openFolder(path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    return await nearestFolder(dirname(path));
  }
}

async function keepOwner(file: FileHandle, existing: Existing): Promise<void> {
  const now = await file.stat();
  if (now.uid === existing.uid && now.gid === existing.gid) return;
  try {
    await file.chown(existing.uid, existing.gid);
  } catch {
    // Only the superuser may change a file's owner; the content matters more.
    return;
  }
}

/**
 * Replaces or creates a file as a whole: readers see the old bytes or the new ones. Keeps mode and owner, creates parents,
 * replaces a link that has appeared at the path instead of following it. Returns whether a file existed. Throws `ToolError`.
 */
export async function replaceFile(at: WorkspacePath, bytes: Uint8Array): Promise<{ existed: boolean }> {
  let folder: OpenFolder | undefined;
  try {
    folder = await makeFolder(dirname(at.path));
    const existing = await existingFile(folder, at);
    const name = basename(at.path);
    const temporary = folder.at(`.${name.slice(0, 100)}.${randomBytes(6).toString("hex")}.tmp`);
    try {
      await writeTemporary(temporary, bytes, existing);
      folder.check();
      await rename(temporary, folder.at(name));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return { existed: existing !== undefined };
  } catch (error) {
    throw await explain(error, at, "written");
  } finally {
    await folder?.close();
  }
}

async function writeTemporary(
  path: string,
  bytes: Uint8Array,
  existing: Existing | undefined,
): Promise<void> {
  const file = await open(path, "wx", existing?.mode ?? 0o666);
  try {
    await file.writeFile(bytes);
    if (existing) {
      await keepOwner(file, existing);
      await file.chmod(existing.mode);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
