/** Sentences of a text, and shortening that never stops inside a word where it can help it. */

const BULLET = /^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+/;
/** Where one sentence ends and the next begins; also in scripts that put no space there. */
export const SENTENCE_GAP = /(?<=[.!?]["')\]]?)\s+(?=["'`([]?[\p{Lu}\p{N}])|(?<=[。！？])/u;
/** A line at least this long that ends without punctuation goes on in the next one: hard-wrapped prose. */
const WRAPPED = 60;

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Lines of prose with hard wraps joined; fenced code left out, since a summary cannot quote half of it. */
function proseLines(text: string): string[] {
  const lines: string[] = [];
  let fenced = false;
  let joins = false;
  for (const raw of text.split("\n")) {
    if (/^\s*(?:```|~~~)/.test(raw)) {
      fenced = !fenced;
      joins = false;
      continue;
    }
    const line = raw.trim();
    if (fenced || line === "") {
      joins = false;
      continue;
    }
    if (joins && !BULLET.test(raw)) lines[lines.length - 1] += ` ${line}`;
    else lines.push(line.replace(BULLET, ""));
    joins = line.length >= WRAPPED && !/[.!?:;。！？]$/.test(line);
  }
  return lines;
}

/** Sentences in order, white space collapsed, list marks removed. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = [];
  for (const line of proseLines(text)) {
    for (const sentence of line.split(SENTENCE_GAP)) {
      const clean = oneLine(sentence);
      if (clean !== "") sentences.push(clean);
    }
  }
  return sentences;
}

/** At most `maxChars` characters of one line: cut after a clause, else after a word, and an ellipsis. */
export function shorten(line: string, maxChars: number): string {
  if (line.length <= maxChars) return line;
  const room = Math.max(1, maxChars - 2);
  const part = line.slice(0, room + 1);
  let cut = -1;
  for (const match of part.matchAll(/[.,;:!?)—](?=\s)|[。，、；：！？]/gu))
    cut = match.index + match[0].length;
  if (cut < room * 0.5) cut = part.lastIndexOf(" ");
  if (cut < room * 0.3) cut = /[\uD800-\uDBFF]/.test(line.charAt(room - 1)) ? room - 1 : room;
  return `${line.slice(0, cut).trimEnd()} …`;
}
