/** The lines of a receipt log as a reader of a long session needs them: from a place on without their parts, or one line whole. */
import { closeSync, fstatSync, openSync } from "node:fs";
import type { Receipt } from "../contract/session/receipt.ts";
import { readFailure, systemCode } from "./failures.ts";
import { parseLine, rebuild, type ReceiptLine, type UsageLine } from "./receipt-log.ts";
import { linesBackward, linesForward } from "./transcript/transcript-lines.ts";

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

/** The lines from an offset on; unreadable ones are left out. None where there is no file. Throws `store_read_failed`. */
export function receiptSteps(file: string, from: number): ReceiptStep[] {
  return withFile<ReceiptStep[]>(file, [], (fd, size) => {
    const steps: ReceiptStep[] = [];
    for (const line of linesForward(fd, Math.min(from, size), size)) {
      const value = parseLine(line);
      if (!value) continue;
      const place = { offset: line.offset, end: line.offset + line.length };
      if ("usage" in value) steps.push({ ...place, usage: value });
      else {
        const { parts, ...receipt } = value.receipt;
        steps.push({ ...place, receipt: { ...receipt, parts: value.keep + parts.length } });
      }
    }
    return steps;
  });
}

/** The receipt of the line at an offset of a step, without usage that was reported later; undefined where it is lost. */
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

function withFile<T>(file: string, absent: T, work: (fd: number, size: number) => T): T {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return absent;
    throw readFailure(error, file);
  }
  try {
    return work(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}
