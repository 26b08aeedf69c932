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

/** One kind of damage: a row of a program's table. */
export interface Repair {
  kind: string;
  /** The lines without it; a line that is right is the same object. */
  apply: (
    lines: readonly SourceLine[],
    report: (line: number | undefined, text: string) => void,
  ) => readonly SourceLine[];
}

/** The lines of a file after all repairs, each of which sees those of the ones before. */
export function repaired(
  content: Buffer,
  repairs: readonly Repair[],
): { lines: readonly SourceLine[]; findings: Finding[] } {
  const findings: Finding[] = [];
  const readable = readableLines(content, findings).map((line) => wellFormedLine(line, findings));
  const report = (line: number | undefined, text: string): void =>
    void findings.push({ ...(line !== undefined && { line }), text });
  const lines = repairs.reduce<readonly SourceLine[]>((each, { apply }) => apply(each, report), readable);
  return { lines, findings: findings.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0)) };
}

/** Most characters of one text: about half of a window of 200,000 tokens. A request of OpenAI may have 10 MiB in one, which no window has. */
export const MOST_TEXT = 400_000;

/** The finding about a text of more than `MOST_TEXT` characters. */
export function tooLong(text: string): string {
  return `A text of ${text.length} characters fills the window of the model; its beginning and its end are kept.`;
}

/** The name for a tool whose own name the providers refuse, for example `read_file` for `read file`; undefined for a valid name. */
export function toolName(name: string): { name: string; text: string } | undefined {
  if (/^[a-zA-Z0-9_-]{1,128}$/.test(name)) return undefined;
  return {
    name: name.replaceAll(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 128) || "tool",
    text: `The tool name ${JSON.stringify(name.slice(0, 60))} is refused; it has other characters.`,
  };
}

/** The content of a result as a text; a list of parts as JSON. */
export function contentText(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}

/** The beginning and the end of a text that is too long. */
export function shortText(text: string, most: number): string {
  const half = Math.floor(most / 2) - 100;
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`.toWellFormed();
}

/** The readable lines of a session file; the others are findings. */
function readableLines(content: Buffer, findings: Finding[]): SourceLine[] {
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
function wellFormedLine({ number, value }: SourceLine, findings: Finding[]): SourceLine {
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
