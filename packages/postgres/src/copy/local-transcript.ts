/** A transcript or receipts of this machine, as bytes up to the last whole line. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { readFailure, writeFailure } from "@pagurus/host/stores/files/failures";
import { readAt } from "@pagurus/host/stores/files/transcript/transcript-lines";

const BLOCK = 64 * 1024;
const NEWLINE = 0x0a;

export interface LocalTranscript {
  read(offset: number, length: number): Uint8Array;
  /** Without a torn last line, which the next opening of the session sets aside. */
  size: number;
  /** Bytes of the torn last line. */
  torn: number;
  /** The fencing epoch of the last writer; 0 where the last line has none. */
  epoch: number;
}

/** Throws `store_read_failed`. */
export async function withTranscript<T>(
  file: string,
  work: (transcript: LocalTranscript) => Promise<T>,
): Promise<T> {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    throw readFailure(error, file);
  }
  try {
    const read = (offset: number, length: number): Buffer => readAt(fd, offset, length);
    const whole = fstatSync(fd).size;
    const size = endOfLine(read, whole);
    const last = size === 0 ? 0 : endOfLine(read, size - 1);
    const epoch = epochOf(read(last, size - last));
    return await work({ read, size, torn: whole - size, epoch });
  } finally {
    closeSync(fd);
  }
}

/** Runs work on a file; what the system throws becomes `store_write_failed`. */
export function onDisk<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw writeFailure(error, file);
  }
}

/** Offset after the last newline before `end`; 0 without one. */
function endOfLine(read: (offset: number, length: number) => Buffer, end: number): number {
  for (let at = end; at > 0; at -= BLOCK) {
    const from = Math.max(0, at - BLOCK);
    const found = read(from, at - from).lastIndexOf(NEWLINE);
    if (found >= 0) return from + found + 1;
  }
  return 0;
}

function epochOf(line: Buffer): number {
  try {
    const { epoch } = JSON.parse(line.toString("utf8")) as { epoch?: unknown };
    return typeof epoch === "number" && Number.isSafeInteger(epoch) ? epoch : 0;
  } catch (error) {
    // An unreadable line is copied as it is; its session is no newer for it.
    if (error instanceof SyntaxError || error instanceof TypeError) return 0;
    throw error;
  }
}
