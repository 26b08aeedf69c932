/** Reads the content of one place, by descriptor and without following a link at its end. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** Largest content that is kept. */
const MOST_BYTES = 1024 * 1024;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** `path` as bytes in latin1. Undefined for what is no regular file, too large or unreadable. */
export function readPlace(path: string): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(Buffer.from(path, "latin1"), READ);
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > MOST_BYTES) return undefined;
    const content = Buffer.alloc(stat.size);
    return content.subarray(0, readSync(fd, content, 0, content.length, 0));
  } catch {
    // It is unreadable, or was removed meanwhile.
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
