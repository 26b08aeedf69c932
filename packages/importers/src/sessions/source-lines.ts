/** The JSON lines of a foreign file, one by one; unreadable lines are returned with a problem, not thrown. */
import { isUtf8 } from "node:buffer";
import { asRecord, type Fields } from "@pagurus/core/data/record-fields";
import { linesForward, type Line } from "@pagurus/host/stores/files/transcript/transcript-lines";

export interface SourceLine {
  /** 1 for the first. */
  number: number;
  /** Absent when the line is no JSON object; `problem` then has the reason. */
  value?: Fields;
  problem?: string;
  bytes: Buffer;
}

/** Every line that is not blank. Reads in blocks: the file is never in memory as a whole. */
export function* sourceLines(fd: number, size: number): Generator<SourceLine> {
  let number = 0;
  for (const line of linesForward(fd, 0, size)) {
    number += 1;
    if (line.length > 1 && line.bytes.length === 0) {
      yield { number, bytes: line.bytes, problem: "it is longer than 256 MiB" };
      continue;
    }
    const text = line.bytes.toString("utf8").replace(/^\uFEFF/, "");
    if (text.trim() === "") continue;
    yield { number, bytes: line.bytes, ...parse(text, line) };
  }
}

function parse(text: string, line: Line): { value: Fields } | { problem: string } {
  if (!isUtf8(line.bytes)) return { problem: "it is not UTF-8" };
  try {
    const value = asRecord(JSON.parse(text));
    return value ? { value } : { problem: "it is no JSON object" };
  } catch {
    // Reported with the line's number.
    return { problem: line.terminated ? "it is not JSON" : "it is cut off" };
  }
}
