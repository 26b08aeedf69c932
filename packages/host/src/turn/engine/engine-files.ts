import { closeSync, copyFileSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { toPagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, writeAll } from "@pagurus/core/platform/atomic-files";

const HASH_SLICE_BYTES = 1 << 20;
/** Length of a copy's end that is compared with the transcript before more is appended. */
const COMPARED_BYTES = 4_096;

/**
 * Path of an engine's copy of a transcript: in a folder named after the session, so that it is deleted with it, and a successor that an
 * engine writes next to it is not taken for one of our own files.
 */
export function mirrorPath(transcript: string): string {
  const name = basename(transcript, ".jsonl");
  return join(dirname(transcript), `${name}.mirror`, `${name}.jsonl`);
}

/**
 * State of each copy as this process last wrote it, oldest dropped first. A copy in another state was written by someone else, even when
 * its size and its end match the transcript.
 */
const leftAs = new Map<string, string>();
const REMEMBERED = 1_000;

function looks(mirror: string): string {
  const found = statSync(mirror, { throwIfNoEntry: false, bigint: true });
  return found ? [found.ino, found.size, found.mtimeNs].join(" ") : "gone";
}

/**
 * Brings an engine's copy of a transcript up to date; returns whether the copy had been rewritten. Only new bytes are copied; a copy that
 * was written by someone else, or whose end differs from the transcript, is rebuilt. An engine never gets our own file: engines written for
 * other hosts rewrite their session file.
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

/** Returns whether the copy existed and its end differed from the transcript. */
function writeMirror(transcript: string, mirror: string, rebuild: boolean): boolean {
  const size = statSync(transcript).size;
  const have = statSync(mirror, { throwIfNoEntry: false })?.size ?? 0;
  const same = !rebuild && have > 0 && sameEnd(transcript, mirror, Math.min(have, size));
  if (have === size && same) return false;
  if (have > size || !same) {
    ensurePrivateDir(dirname(mirror));
    // A symbolic link in its place would redirect the copy.
    rmSync(mirror, { force: true });
    copyFileSync(transcript, mirror);
    return have > 0 && !same;
  }
  const source = openSync(transcript, "r");
  const target = openSync(mirror, "a", 0o600);
  try {
    const buffer = Buffer.alloc(Math.min(HASH_SLICE_BYTES, size - have));
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
 * The file passed to an engine as `sessionFile`: ours for bundled engines, a copy for every other. A copy that cannot be written is
 * reported and stays as it is; the engine's own call shows whether that matters. `onRewritten` is called when the engine had rewritten the
 * copy, which was rebuilt.
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
        "the engine rewrote its copy of the transcript; that is not taken over, and the copy was rebuilt",
      );
    }
  } catch (error) {
    onFailure(`the engine's copy of the transcript could not be written: ${toPagurusError(error).message}`);
  }
  return mirror;
}
