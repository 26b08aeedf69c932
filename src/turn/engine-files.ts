import { closeSync, copyFileSync, openSync, readSync, statSync, truncateSync } from "node:fs";
import { writeAll } from "../platform/files.ts";

const SLICE_BYTES = 1 << 20;

/** Where an engine's copy of a transcript lies; beside it, so that deleting the session deletes it too. */
function mirrorPath(transcript: string): string {
  return transcript.replace(/\.jsonl$/, ".mirror.jsonl");
}

/**
 * Brings an engine's copy of a transcript up to date and returns its path. Only what is new is copied. An engine
 * never gets our own file: engines written for other hosts rewrite what they are given.
 */
function refreshMirror(transcript: string): string {
  const mirror = mirrorPath(transcript);
  const size = statSync(transcript).size;
  const have = statSync(mirror, { throwIfNoEntry: false })?.size;
  if (have === undefined || have > size) {
    copyFileSync(transcript, mirror);
    truncateSync(mirror, size);
    return mirror;
  }
  const source = openSync(transcript, "r");
  const target = openSync(mirror, "a", 0o600);
  try {
    const buffer = Buffer.alloc(Math.min(SLICE_BYTES, Math.max(1, size - have)));
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
  return mirror;
}

/** The file named to an engine as `sessionFile`: ours for engines of this package, a copy for every other. */
export function engineSessionFile(slot: { bundled: boolean }, transcript: string): string {
  return slot.bundled ? transcript : refreshMirror(transcript);
}
