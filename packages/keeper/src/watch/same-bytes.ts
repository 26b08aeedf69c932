/** How much of a file is as the archive has it. */
import { nextSlice } from "@pagurus/core/platform/pace";
import type { Archive, FileRow } from "../archive/archive.ts";
import type { SourceFile } from "./source-file.ts";

/** A file that has grown in place and of which more is kept is compared in samples, and in full when it rests. */
const SAMPLED_BYTES = 1024 * 1024;
const SAMPLE = 4 * 1024;
const SAMPLES = 16;

/** Bytes at the beginning of the source that are those of the kept version. */
export async function sameBytes(archive: Archive, file: FileRow, source: SourceFile): Promise<number> {
  let at = 0;
  let slice = 0;
  for (const kept of archive.read(file.id, file.version, 0, Math.min(file.size, source.size))) {
    const there = source.read(at, kept.length);
    if (!kept.equals(there)) return at + firstDifference(kept, there);
    at += kept.length;
    slice += kept.length;
    if (slice > SAMPLED_BYTES) {
      slice = 0;
      await nextSlice();
    }
  }
  return at;
}

/** Whether samples of a file that has grown are as they were. */
export function looksGrown(archive: Archive, file: FileRow, source: SourceFile): boolean {
  if (file.size <= SAMPLED_BYTES || source.size <= file.size) return false;
  const step = Math.floor((file.size - SAMPLE) / (SAMPLES - 1));
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const at = sample === SAMPLES - 1 ? file.size - SAMPLE : sample * step;
    if (!archive.bytes(file.id, file.version, at, at + SAMPLE).equals(source.read(at, SAMPLE))) return false;
  }
  return true;
}

function firstDifference(one: Buffer, other: Buffer): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  // By halves: `compare` is faster than a loop over bytes.
  for (let step = end; step > 0; step >>= 1)
    while (at + step <= end && one.compare(other, at, at + step, at, at + step) === 0) at += step;
  return at;
}
