/** The entries of a session with their contents, in the order of writing, off the path too. */
import { closeSync, fstatSync, openSync } from "node:fs";
import type { TranscriptEntry } from "../../contract/session/transcript.ts";
import { readFailure } from "../../stores/files/failures.ts";
import { parseEntry } from "../../stores/files/transcript/transcript-entry.ts";
import { linesForward } from "../../stores/files/transcript/transcript-lines.ts";

/** Those that are there now, one in memory at a time. Throws `store_read_failed`. */
export async function* sessionEntries(file: string): AsyncGenerator<TranscriptEntry> {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    throw readFailure(error, file);
  }
  try {
    for (const line of linesForward(fd, 0, fstatSync(fd).size)) {
      const parsed = line.terminated ? parseEntry(line.bytes) : undefined;
      if (parsed && "entry" in parsed) yield parsed.entry;
    }
  } finally {
    closeSync(fd);
  }
}
