/** Splits text into sentences, and shortens lines at word ends where possible. */
import { codeLines } from "../../data/code-lines.ts";

const BULLET = /^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+/;
/** Boundary between sentences, also in scripts that put no space there; a title is before a name: `Dr. Lee`. */
export const SENTENCE_GAP =
  /(?<=[.!?]["')\]]?)(?<!\b(?:Dr|Mr|Mrs|Ms|Prof)\.)\s+(?=["'`([]?[\p{Lu}\p{N}])|(?<=[。！？])/u;
/** A line at least this long that ends without punctuation is hard-wrapped prose, continued in the next line. */
const WRAPPED = 60;

/** White space that is not a single blank: most is, and replacing each would take most of the time. */
const WIDE = /[^\S ]\s*| \s+/g;

export function onOneLine(text: string): string {
  return text.replace(WIDE, " ").trim();
}

/** Lines of prose with hard wraps joined; fenced code is skipped, since a summary cannot quote half of it. */
function proseLines(text: string): string[] {
  const lines: string[] = [];
  const isCode = codeLines();
  let joins = false;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (isCode(raw) || line === "") {
      joins = false;
      continue;
    }
    if (joins && !BULLET.test(raw)) lines[lines.length - 1] += ` ${line}`;
    else lines.push(line.replace(BULLET, ""));
    joins = line.length >= WRAPPED && !/[.!?:;。！？]$/.test(line);
  }
  return lines;
}

/** A list mark inside a line, which looks like a sentence. */
const LIST_NUMBER = /^\d{1,3}[.)]$/;

/** Parts of a line, without list marks between them; a number that answers a question stays with it. */
function partsOf(line: string): string[] {
  const parts: string[] = [];
  const all = line.split(SENTENCE_GAP);
  for (const [index, part] of all.entries()) {
    if (!LIST_NUMBER.test(part) || all.length === 1) parts.push(part);
    else if (parts.at(-1)?.endsWith("?")) parts[parts.length - 1] += ` ${part}`;
    else if (index === all.length - 1) parts.push(part);
  }
  return parts;
}

/** Sentences in order, white space collapsed, list marks removed. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = [];
  for (const line of proseLines(text)) {
    for (const sentence of partsOf(line)) {
      const clean = onOneLine(sentence);
      if (clean !== "") sentences.push(clean);
    }
  }
  return sentences;
}

/** Shortens a line to `maxChars` characters: cut after a clause, else after a word, with an ellipsis. */
export function shorten(line: string, maxChars: number): string {
  if (line.length <= maxChars) return line;
  const limit = Math.max(1, maxChars - 2);
  const part = line.slice(0, limit + 1);
  let cut = -1;
  for (const match of part.matchAll(/[.,;:!?)—](?=\s)|[。，、；：！？]/gu))
    cut = match.index + match[0].length;
  if (cut < limit * 0.5) cut = part.lastIndexOf(" ");
  if (cut < limit * 0.3) cut = /[\uD800-\uDBFF]/.test(line.charAt(limit - 1)) ? limit - 1 : limit;
  return `${line.slice(0, cut).trimEnd()} …`;
}
