import { closeSync, copyFileSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { toPagurusError } from "../contract/errors.ts";
import { ensurePrivateDir, writeAll } from "../platform/files.ts";

const SLICE_BYTES = 1 << 20;
/** How much of a copy's end is compared with the transcript before more is appended to it. */
const COMPARED_BYTES = 4_096;

/**
 * Where an engine's copy of a transcript lies: in a folder that is named after the session, so that it is deleted
 * with it, and so that a successor which an engine writes beside it is not taken for one of our own files.
 */
export function mirrorPath(transcript: string): string {
  const name = basename(transcript, ".jsonl");
  return join(dirname(transcript), `${name}.mirror`, `${name}.jsonl`);
}

/**
 * How this process left each copy that it wrote last, oldest dropped first. What does not look so was written by
 * somebody else, also where its size and its end are the transcript's.
 */
const leftAs = new Map<string, string>();
const REMEMBERED = 1_000;

function looks(mirror: string): string {
  const found = statSync(mirror, { throwIfNoEntry: false, bigint: true });
  return found ? [found.ino, found.size, found.mtimeNs].join(" ") : "gone";
}

/**
 * Brings an engine's copy of a transcript up to date. Only what is new is copied; a copy that somebody else has
 * written, or whose end is not the transcript's, is made anew. An engine never gets our own file: engines written for
 * other hosts rewrite what they are given. Whether the copy had been rewritten.
 */
function refreshMirror(transcript: string, mirror: string): boolean {
  const left = leftAs.get(mirror);
  const touched = left !== undefined && left !== looks(mirror);
  const rewritten = writeMirror(transcript, mirror, touched);
  leftAs.delete(mirror);
  leftAs.set(mirror, looks(mirror));
  const [oldest] = leftAs.keys();
  if (leftAs.size > REMEMBERED && oldest !== undefined) leftAs.delete(oldest);
  return rewritten || touched;
}

/** Whether the copy was there and its end was not the transcript's. */
function writeMirror(transcript: string, mirror: string, anew: boolean): boolean {
  const size = statSync(transcript).size;
  const have = statSync(mirror, { throwIfNoEntry: false })?.size ?? 0;
  const same = !anew && have > 0 && sameEnd(transcript, mirror, Math.min(have, size));
  if (have === size && same) return false;
  if (have > size || !same) {
    ensurePrivateDir(dirname(mirror));
    // A link that was put in its place would lead the copy elsewhere.
    rmSync(mirror, { force: true });
    copyFileSync(transcript, mirror);
    return have > 0 && !same;
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
  return false;
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
 * `onRewritten` is told that the engine had rewritten the copy, which was made anew.
 */
export function engineSessionFile(
  slot: { bundled: boolean },
  transcript: string,
  onFailure: (reason: string) => void,
  onRewritten: (reason: string) => void = onFailure,
): string {
  if (slot.bundled) return transcript;
  const mirror = mirrorPath(transcript);
  try {
    if (refreshMirror(transcript, mirror)) {
      onRewritten(
        "the engine rewrote its copy of the transcript; that is not taken over, and the copy was made anew",
      );
    }
  } catch (error) {
    onFailure(`the engine's copy of the transcript could not be written: ${toPagurusError(error).message}`);
  }
  return mirror;
}
