/**
 * Lines of a file between two offsets, in either direction, without loading the file. Offsets and lengths are in
 * bytes; a length counts the newline.
 */
import { readSync } from "node:fs";

export interface Line {
  offset: number;
  length: number;
  /** Without the newline. Empty for a line over 256 MiB, which no reader accepts. */
  bytes: Buffer;
  /** False for a last line without a newline. */
  terminated: boolean;
}

const CHUNK = 256 * 1024;
/** First piece of a read from the end, which mostly needs a few lines; each next one is four times as long, up to a chunk. */
const FIRST_CHUNK = 16 * 1024;
const NEWLINE = 10;
/** Bytes of the longest line that is read, and so of the longest that is written. */
export const LINE_LIMIT = 256 * 1024 * 1024;

/** Exactly `length` bytes at `offset`, fewer only at the end of the file. */
export function readAt(fd: number, offset: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const count = readSync(fd, buffer, read, length - read, offset + read);
    if (count === 0) break;
    read += count;
  }
  return buffer.subarray(0, read);
}

/** Parts of a line that is longer than a chunk. */
class LineParts {
  #parts: Buffer[] = [];
  #bytes = 0;

  append(part: Buffer): void {
    this.#add(part, () => this.#parts.push(part));
  }

  prepend(part: Buffer): void {
    this.#add(part, () => this.#parts.unshift(part));
  }

  take(): Buffer {
    const [first] = this.#parts;
    const whole = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return whole;
  }

  #add(part: Buffer, keep: () => void): void {
    this.#bytes += part.length;
    if (this.#bytes > LINE_LIMIT) this.#parts = [];
    else keep();
  }
}

/** Names the file at each read, for a walk during which it may be closed: the system reuses a closed descriptor for another file. */
type OpenFile = number | { readonly fd: number };

/** Lines from `from` (the start of a line) up to `to`, first to last. */
export function* linesForward(file: OpenFile, from: number, to: number): Generator<Line> {
  const parts = new LineParts();
  let start = from;
  let position = from;
  while (position < to) {
    const block = readAt(typeof file === "number" ? file : file.fd, position, Math.min(CHUNK, to - position));
    if (block.length === 0) break;
    let low = 0;
    for (;;) {
      const at = block.indexOf(NEWLINE, low);
      if (at < 0) break;
      parts.append(block.subarray(low, at));
      low = at + 1;
      const end = position + low;
      yield { offset: start, length: end - start, bytes: parts.take(), terminated: true };
      start = end;
    }
    if (low < block.length) parts.append(block.subarray(low));
    position += block.length;
  }
  if (position > start)
    yield { offset: start, length: position - start, bytes: parts.take(), terminated: false };
}

/** Lines from `to` (just after a newline) back to `from` (the start of a line), last to first. */
export function* linesBackward(file: OpenFile, from: number, to: number): Generator<Line> {
  const parts = new LineParts();
  let end = to;
  let position = to;
  for (let chunk = FIRST_CHUNK; position > from; chunk = Math.min(CHUNK, chunk * 4)) {
    const start = Math.max(from, position - chunk);
    const block = readAt(typeof file === "number" ? file : file.fd, start, position - start);
    let high = block.length;
    // The byte before `end` is the line's own newline and no line break to stop at.
    if (position === end) high -= 1;
    for (;;) {
      const at = high > 0 ? block.lastIndexOf(NEWLINE, high - 1) : -1;
      if (at < 0) break;
      parts.prepend(block.subarray(at + 1, high));
      const offset = start + at + 1;
      yield { offset, length: end - offset, bytes: parts.take(), terminated: true };
      end = offset;
      high = at;
    }
    if (high > 0) parts.prepend(block.subarray(0, high));
    position = start;
  }
  if (end > from) yield { offset: from, length: end - from, bytes: parts.take(), terminated: true };
}
