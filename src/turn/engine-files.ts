import { closeSync, copyFileSync, openSync, readSync, statSync } from "node:fs";
import { toPagurusError } from "../contract/errors.ts";
import { writeAll } from "../platform/files.ts";

const SLICE_BYTES = 1 << 20;
/** How much of a copy's end is compared with the transcript before more is appended to it. */
const COMPARED_BYTES = 4_096;

/** Where an engine's copy of a transcript lies; beside it, so that deleting the session deletes it too. */
function mirrorPath(transcript: string): string {
  return transcript.replace(/\.jsonl$/, ".mirror.jsonl");
}

/**
 * Brings an engine's copy of a transcript up to date. Only what is new is copied; a copy whose end is not the
 * transcript's (an engine rewrote it) is made anew. An engine never gets our own file: engines written for other
 * hosts rewrite what they are given.
 */
function refreshMirror(transcript: string, mirror: string): void {
  const size = statSync(transcript).size;
  const have = statSync(mirror, { throwIfNoEntry: false })?.size ?? 0;
  if (have === size && have > 0 && sameEnd(transcript, mirror, have)) return;
  if (have === 0 || have > size || !sameEnd(transcript, mirror, have)) {
    copyFileSync(transcript, mirror);
    return;
  }
  const source = openSync(transcript, "r");
  const target = openSync(mirror, "a", 0o600);
  try {
    const buffer = Buffer.alloc(Math.min(SLICE_BYTES, size - have));
    for (let offset = have; offset < size;) {
      const read = readSync(source, buffer, 0, Math.min(buffer.length, size - offset), offset);
      if (read === 0) break;
      writeAll(target, buffer.subarray(0, read));
      offset += read;
    }
  } finally {
    closeSync(source);
    closeSync(target);
  }
}

function sameEnd(transcript: string, mirror: string, end: number): boolean {
  const length = Math.min(COMPARED_BYTES, end);
  const [ours, theirs] = [transcript, mirror].map((path) => {
    const buffer = Buffer.alloc(length);
    const fd = openSync(path, "r");
    try {
      readSync(fd, buffer, 0, length, end - length);
    } finally {
      closeSync(fd);
    }
    return buffer;
  });
  return ours !== undefined && theirs !== undefined && ours.equals(theirs);
}

/**
 * The file named to an engine as `sessionFile`: ours for engines of this package, a copy for every other. A copy
 * that cannot be written is reported and stays as it is; the engine's own call tells whether that matters to it.
 */
export function engineSessionFile(
  slot: { bundled: boolean },
  transcript: string,
  onFailure: (reason: string) => void,
): string {
  if (slot.bundled) return transcript;
  const mirror = mirrorPath(transcript);
  try {
    refreshMirror(transcript, mirror);
  } catch (error) {
    onFailure(`the engine's copy of the transcript could not be written: ${toPagurusError(error).message}`);
  }
  return mirror;
}
