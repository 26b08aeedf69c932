/** The JSON lines of a foreign file, one by one; what cannot be read is told, not thrown. */
import { isUtf8 } from "node:buffer";
import { linesForward, type Line } from "../lines.ts";
import { fieldsOf, type Fields } from "./fields.ts";

export interface SourceLine {
  /** 1 for the first. */
  number: number;
  /** Absent where the line is no JSON object; `problem` says why. */
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
    const value = fieldsOf(JSON.parse(text));
    return value ? { value } : { problem: "it is no JSON object" };
  } catch {
    // Told with the line's number.
    return { problem: line.terminated ? "it is not JSON" : "it is cut off" };
  }
}
