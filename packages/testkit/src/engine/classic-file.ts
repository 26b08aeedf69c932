/** Reads a transcript file that an engine wrote. */
import { readFileSync } from "node:fs";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { isRecord } from "@pagurus/core/data/record-fields";
import { Violation } from "../conformance-check.ts";

export interface ClassicTranscript {
  header: Record<string, unknown>;
  entries: TranscriptEntry[];
}

/** Throws `Violation` for a missing file, a line that is not JSON, or a first line that is not a header. */
export function readClassicTranscript(file: string): ClassicTranscript {
  const lines = readLines(file).map((line, index): Record<string, unknown> => {
    const value = parsed(line);
    if (isRecord(value)) return value;
    throw new Violation(`Line ${index + 1} of the successor's transcript is not a JSON object.`);
  });
  const [header, ...entries] = lines;
  if (header?.["type"] !== "session")
    throw new Violation("The successor's transcript does not begin with a line of the type `session`.");
  return { header, entries: entries as unknown as TranscriptEntry[] };
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (error) {
    throw new Violation(`The successor's transcript cannot be read: ${String(error)}`, { cause: error });
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The caller names the line.
    return undefined;
  }
}
