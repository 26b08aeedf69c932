/** Reads small files that others may have made: a named pipe would block the process forever, a device or a huge file fill its memory. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/** Settings, hooks and variables are far smaller. */
const MOST_BYTES = 4 * 1024 * 1024;
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

/** The text of a regular file, links followed; undefined for anything else, or a file that is too large. Throws the system's errors. */
export function readRegularFile(path: string): string | undefined {
  const fd = openSync(path, READ);
  try {
    const stat = fstatSync(fd);
    return stat.isFile() && stat.size <= MOST_BYTES ? readFileSync(fd, "utf8") : undefined;
  } finally {
    closeSync(fd);
  }
}
