/** What keeps a conversation from continuing, and what is put in its place. Shared by the programs' formats. */
import { isObjectOrList, isRecord, parseJson, type Fields } from "@pagurus/core/data/record-fields";

export interface Finding {
  /** Line of the source, from 1; absent for the conversation as a whole. */
  line?: number;
  /** What is wrong, and what is there now: a sentence. */
  text: string;
}

export interface Rescued {
  /** Lines of the new session, each a JSON object. */
  lines: Fields[];
  findings: Finding[];
}

export interface SourceLine {
  number: number;
  value: Fields;
}

/** The readable lines of a session file; the others are findings. */
export function readableLines(content: Buffer, findings: Finding[]): SourceLine[] {
  return content
    .toString("utf8")
    .split("\n")
    .flatMap((text, index) => {
      if (text.trim() === "") return [];
      const value = parseJson(text);
      if (isRecord(value)) return [{ number: index + 1, value }];
      findings.push({
        line: index + 1,
        text: "The line is no JSON object, for example a half-written one; it is left out.",
      });
      return [];
    });
}

/** The value with U+FFFD for halves of surrogate pairs, which providers refuse. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (Array.isArray(value)) return (value as unknown[]).map(wellFormed);
  if (!isObjectOrList(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key.toWellFormed(), wellFormed(each)]),
  );
}

/** A line whose halves of surrogate pairs are replaced, with a finding where it had some. */
export function wellFormedLine({ number, value }: SourceLine, findings: Finding[]): SourceLine {
  if (isWellFormed(value)) return { number, value };
  findings.push({
    line: number,
    text: "It has half a character (a lone surrogate); U+FFFD is in its place.",
  });
  return { number, value: wellFormed(value) as Fields };
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return (value as unknown[]).every(isWellFormed);
  return !isObjectOrList(value) || Object.values(value).every(isWellFormed);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}
