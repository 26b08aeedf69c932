/**
 * Moves files and folders between a workspace and the held area. The folder in the workspace is opened and compared with the
 * intended path first, so that a link that a command puts there leads nowhere else. Paths in the workspace are texts of single
 * bytes (latin1).
 */
import { PagurusError } from "@pagurus/contract/errors";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "../tool-error.ts";
import { onDisk, toBytes, type Placed } from "./manifest.ts";

/** `why` completes "The place was not moved: …". */
function unmoved(why: string): PagurusError {
  return new PagurusError("store_write_failed", why);
}

const FOLDER = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

/** Runs `work` with a prefix that leads to the folder of `path`, whatever is put at that path meanwhile. */
function inFolderOf<T>(
  root: string,
  path: string,
  work: (at: (name: string) => Buffer, name: string) => T,
): T {
  const cut = path.lastIndexOf("/");
  const folder = realpathSync.native(onDisk(path.slice(0, cut) || "/"), { encoding: "latin1" });
  const own = toBytes(root);
  if (folder !== own && !folder.startsWith(`${own}/`))
    throw unmoved("its folder is outside of the workspace");
  const fd = openSync(onDisk(folder), FOLDER);
  try {
    let base = folder;
    if (process.platform === "linux") {
      base = `/proc/self/fd/${fd}`;
      if (readlinkSync(base, { encoding: "latin1" }) !== folder) throw unmoved("its folder was replaced");
    }
    return work((name) => onDisk(`${base}/${name}`), path.slice(cut + 1));
  } finally {
    closeSync(fd);
  }
}

/** `O_PATH` of Linux: a descriptor for a folder that may not be read. */
const PATH_ONLY = 0o10000000;

/** Gives this user all rights to a folder, which a command may have taken away so that it can be neither moved nor copied. */
function openUp(path: Buffer): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true || (stat.mode & 0o700) === 0o700) return;
  if (process.platform !== "linux") return chmodSync(path, 0o700);
  const fd = openSync(path, PATH_ONLY | FOLDER);
  try {
    chmodSync(`/proc/self/fd/${fd}`, 0o700);
  } finally {
    closeSync(fd);
  }
}

/** Copies files, folders and links as they are; anything else (a pipe, a socket) is left out. */
function copyTree(from: Buffer, to: Buffer): void {
  openUp(from);
  const stat = lstatSync(from);
  if (stat.isSymbolicLink()) symlinkSync(readlinkSync(from, { encoding: "buffer" }), to);
  else if (stat.isFile()) copyFileSync(from, to, constants.COPYFILE_EXCL);
  else if (stat.isDirectory()) {
    mkdirSync(to, { mode: 0o700 });
    for (const name of readdirSync(from, { encoding: "buffer" }))
      copyTree(Buffer.concat([from, Buffer.from("/"), name]), Buffer.concat([to, Buffer.from("/"), name]));
    chmodSync(to, stat.mode & 0o777);
  }
}

function move(from: Buffer, to: Buffer): void {
  openUp(from);
  try {
    renameSync(from, to);
  } catch (error) {
    if (systemCode(error) !== "EXDEV") throw error;
    copyTree(from, to);
    rmSync(from, { recursive: true, force: true });
  }
}

/** Moves the place to `target`, which does not exist. Throws the system's errors. */
export function moveOut(root: string, path: string, target: string): void {
  inFolderOf(root, path, (at, name) => move(at(name), Buffer.from(target)));
}

/** Removes a place that cannot be moved; false where that fails too. */
export function removePlace(root: string, path: string): boolean {
  try {
    inFolderOf(root, path, (at, name) => rmSync(at(name), { recursive: true, force: true }));
    return true;
  } catch {
    // The result names it as remaining.
    return false;
  }
}

/** Writes a place as it was; false where its content was not kept. Throws the system's errors. */
export function putBack(
  root: string,
  path: string,
  { type, link, content, mode, uid, gid }: Placed,
): boolean {
  return inFolderOf(root, path, (at, name) => {
    if (type === "link" && link !== undefined) {
      symlinkSync(onDisk(link), at(name));
      return true;
    }
    if (type !== "file" || !content) return false;
    const temporary = at(`.pagurus-${randomBytes(6).toString("hex")}.tmp`);
    const fd = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      writeFileSync(fd, content);
      // Only the superuser can give a file away; who cannot is its owner, or the file was someone else's.
      if (process.getuid?.() === 0) fchownSync(fd, uid, gid);
      fchmodSync(fd, mode & 0o7777);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, at(name));
    return true;
  });
}

/** Moves a held file or folder to its place, over an existing file. Throws the system's errors. */
export function moveIn(root: string, from: string, path: string): void {
  mkdirSync(onDisk(dirname(path)), { recursive: true });
  inFolderOf(root, path, (at, name) => {
    const stat = lstatSync(at(name), { throwIfNoEntry: false });
    if (stat?.isDirectory()) throw unmoved("a folder is there now");
    move(Buffer.from(from), at(name));
  });
}
