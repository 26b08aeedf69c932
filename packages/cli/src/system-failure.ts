/** Failed calls of the operating system, as a sentence with the path and what to do; Node's own texts are for programmers. */
import { PagurusError } from "@pagurus/contract/errors";

const CAUSES: Readonly<Record<string, readonly [cause: string, remedy: string]>> = {
  EACCES: ["permission is denied", "give this user the right to it, or name another place"],
  EPERM: ["permission is denied", "give this user the right to it, or name another place"],
  EROFS: ["its file system is read-only", "name another place"],
  ENOSPC: ["the disk is full", "free some space and try again"],
  EDQUOT: ["the quota of this user is used up", "free some space and try again"],
  ENOENT: ["it does not exist", "check the path"],
  ENOTDIR: ["a part of the path is a file and no folder", "check the path"],
  EISDIR: ["it is a folder", "name a file"],
  EEXIST: ["it exists already", "name another place"],
  ELOOP: ["it is a link that leads to itself", "check the path"],
  ENAMETOOLONG: ["the path is too long", "use a shorter one"],
  EMFILE: ["too many files are open", "close some programs, or raise the limit (ulimit -n)"],
  EIO: ["the disk reports an error", "check the disk"],
};

const READS: ReadonlySet<string> = new Set([
  "stat",
  "lstat",
  "read",
  "scandir",
  "opendir",
  "readlink",
  "realpath",
  "access",
]);

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string; syscall: string } {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return error instanceof Error && typeof code === "string" && typeof syscall === "string";
}

/** Undefined for anything but a failed call on a path. */
export function systemFailure(error: unknown): PagurusError | undefined {
  if (!isSystemError(error) || error.path === undefined) return undefined;
  const known = Object.hasOwn(CAUSES, error.code) ? CAUSES[error.code] : undefined;
  const [cause, remedy] = known ?? [`the system reports ${error.code}`, "check the path"];
  const isRead = READS.has(error.syscall);
  const message = `${error.path} cannot be ${isRead ? "read" : error.syscall === "open" ? "opened" : "written"}: ${cause} (${error.code}); ${remedy}.`;
  return new PagurusError(isRead ? "store_read_failed" : "store_write_failed", message, { cause: error });
}
