/** The entries of a session with their contents, in the order of writing, off the path too. */
import { closeSync, fstatSync, openSync } from "node:fs";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { readFailure } from "@pagurus/host/stores/files/failures";
import { parseEntry } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { linesForward } from "@pagurus/host/stores/files/transcript/transcript-lines";

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
