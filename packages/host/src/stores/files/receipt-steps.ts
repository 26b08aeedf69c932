/** The lines of a receipt log as a reader of a long session needs them: from a place on without their parts, or one line whole. */
import { closeSync, fstatSync, openSync } from "node:fs";
import type { Receipt } from "@pagurus/contract/session/receipt";
import { readFailure, systemCode } from "./failures.ts";
import { parseLine, rebuild, type ReceiptLine, type UsageLine } from "./receipt-log.ts";
import { linesBackward, linesForward, type Line } from "./transcript/transcript-lines.ts";

const PARTS_START = Buffer.from(`,"parts":[`);
const PARTS_END = Buffer.from(`],"liveFrom":`);
const SOURCE_FIELD = Buffer.from(`"source":"`);

/** One line of the file: a receipt, whose leading parts may be those of the receipt before it, or the usage of an earlier one. */
export interface ReceiptStep {
  /** Byte offset of the line, for `at`. */
  offset: number;
  /** Offset after it: where a later scan continues. */
  end: number;
  /** `parts` is the number of all parts. */
  receipt?: Omit<Receipt, "parts"> & { parts: number };
  usage?: UsageLine;
}

/**
 * The lines from an offset on, as far as the file goes at first; unreadable ones are left out. None if there is no file. A reader of
 * a long file may pause between them. Throws `store_read_failed`.
 */
export function* receiptSteps(file: string, from: number): Generator<ReceiptStep> {
  const fd = opened(file);
  if (fd === undefined) return;
  try {
    const { size } = fstatSync(fd);
    for (const line of linesForward(fd, Math.min(from, size), size)) {
      const step = stepOf(line);
      if (step) yield step;
    }
  } finally {
    closeSync(fd);
  }
}

function stepOf(line: Line): ReceiptStep | undefined {
  const cut = withoutParts(line.bytes);
  const value = parseLine(cut ? { ...line, bytes: cut.bytes } : line);
  if (!value) return undefined;
  const place = { offset: line.offset, end: line.offset + line.length };
  if ("usage" in value) return { ...place, usage: value };
  const { parts, ...receipt } = value.receipt;
  return { ...place, receipt: { ...receipt, parts: value.keep + parts.length + (cut?.parts ?? 0) } };
}

/**
 * A line with an empty list of parts, and how many it had; undefined for one that is not of this form. The parts of a long session's
 * request are a megabyte. A quote in a JSON string is escaped, so each mark is one of a field.
 */
function withoutParts(bytes: Buffer): { bytes: Buffer; parts: number } | undefined {
  const start = bytes.indexOf(PARTS_START) + PARTS_START.length;
  const end = start < PARTS_START.length ? -1 : bytes.indexOf(PARTS_END, start);
  if (end < 0) return undefined;
  let parts = 0;
  for (
    let at = bytes.indexOf(SOURCE_FIELD, start);
    at >= 0 && at < end;
    at = bytes.indexOf(SOURCE_FIELD, at + SOURCE_FIELD.length)
  )
    parts += 1;
  return { bytes: Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]), parts };
}

/**
 * The lines from the end back to the last receipt before a time (ISO 8601), which is not among them, oldest first. Undefined where that
 * takes more than `mostBytes`. Throws `store_read_failed`.
 */
export function receiptStepsSince(file: string, since: string, mostBytes: number): ReceiptStep[] | undefined {
  return withFile<ReceiptStep[] | undefined>(file, [], (fd, size) => {
    const steps: ReceiptStep[] = [];
    for (const line of linesBackward(fd, 0, size)) {
      if (size - line.offset > mostBytes) return undefined;
      const step = stepOf(line);
      if (step?.receipt && step.receipt.timestamp < since) break;
      if (step) steps.push(step);
    }
    return steps.toReversed();
  });
}

/** The receipt of the line at an offset of a step, without usage that was reported later; undefined if it is lost. */
export function receiptAt(file: string, offset: number): Receipt | undefined {
  return withFile(file, undefined, (fd, size) => {
    const [wanted] = linesForward(fd, Math.min(offset, size), size);
    if (!wanted) return undefined;
    const lines: ReceiptLine[] = [];
    for (const line of linesBackward(fd, 0, wanted.offset + wanted.length)) {
      const value = parseLine(line);
      if (!value) return undefined;
      if ("usage" in value) continue;
      lines.push(value);
      if (value.keep === 0) break;
    }
    let found: ReceiptLine | undefined;
    for (const line of lines.toReversed()) found = rebuild(line, found);
    return found?.receipt;
  });
}

/** Undefined if there is no file. Throws `store_read_failed`. */
function opened(file: string): number | undefined {
  try {
    return openSync(file, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw readFailure(error, file);
  }
}

function withFile<T>(file: string, absent: T, work: (fd: number, size: number) => T): T {
  const fd = opened(file);
  if (fd === undefined) return absent;
  try {
    return work(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}
