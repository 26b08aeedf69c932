/** Reads the newest lines of a transcript from its end, so that the cost does not grow with the session. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const FIRST_BYTES = 1024 * 1024;
const READ_GROWTH = 4;

/** Complete lines of the file, oldest first: as many from the end as are `enough`, or all. */
export function newestLines(file: string, enough: (lines: readonly string[]) => boolean): string[] {
  const fd = openSync(file, "r");
  try {
    const { size } = fstatSync(fd);
    for (let bytes = FIRST_BYTES; ; bytes *= READ_GROWTH) {
      const start = Math.max(0, size - bytes);
      const lines = textBetween(fd, start, size).split("\n");
      // The first line starts before the chunk.
      if (start > 0) lines.shift();
      // After the last newline there is nothing, or a line still being written.
      lines.pop();
      if (start === 0 || enough(lines)) return lines;
    }
  } finally {
    closeSync(fd);
  }
}

function textBetween(fd: number, start: number, end: number): string {
  const buffer = Buffer.allocUnsafe(end - start);
  let read = 0;
  while (read < buffer.length) {
    const count = readSync(fd, buffer, read, buffer.length - read, start + read);
    if (count === 0) break;
    read += count;
  }
  return buffer.toString("utf8", 0, read);
}
