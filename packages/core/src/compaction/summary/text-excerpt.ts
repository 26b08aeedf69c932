/**
 * Excerpts of long texts for a summary: the beginning, the end, and between them the lines with the most facts. The
 * same text gives the same lines.
 */
import { specificStrings } from "./specific-strings.ts";
import { isErrorLine } from "./salience.ts";

/** Shares of the characters for the first and the last lines; lines with facts take the rest. */
const HEAD_SHARE = 0.2;
const TAIL_SHARE = 0.2;
/** Longer lines are split into pieces, so that one line does not displace all others. Characters. */
const MOST_LINE = 300;
/** Length reserved for a note on omitted lines. Characters. */
const GAP_CHARS = 24;

const PAIR = /(?:^|[\s,;({"'])[A-Za-z_][\w.-]*["']?\s*[:=]\s*\S/;
const NUMBER = /(?<![\w.])\d[\d.,:/-]*(?![\w])/g;
const STATED =
  /\b(?:is|are|was|were|must|never|always|only|requires?|default|because|decided|fixed|version|password|token|port|deadline|owner)\b/i;

interface Line {
  text: string;
  at: number;
  score: number;
}

const SHAPE_CHARS = 60;
const NOT_ASCII = /[^\0-\x7F]/;

/** Pattern of a line without its words and numbers: repeated lines of a log or a listing have the same one. */
function shapeOf(line: string): string {
  if (NOT_ASCII.test(line))
    return line
      .replaceAll(/[\p{L}\p{N}_]+/gu, (word) => (/\p{N}/u.test(word) ? "0" : "a"))
      .slice(0, SHAPE_CHARS);
  let shape = "";
  for (let at = 0; at < line.length && shape.length < SHAPE_CHARS;) {
    let end = at;
    let hasDigit = false;
    for (let kind = kindAt(line, end); kind !== SIGN; kind = kindAt(line, (end += 1)))
      if (kind === DIGIT) hasDigit = true;
    shape += end === at ? line.charAt(at) : hasDigit ? "0" : "a";
    at = end === at ? at + 1 : end;
  }
  return shape;
}

const [SIGN, LETTER, DIGIT] = [0, 1, 2] as const;
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return /\d/.test(char) ? DIGIT : /\w/.test(char) ? LETTER : SIGN;
});

/** Kind of an ASCII character; a sign after the end. */
function kindAt(line: string, at: number): number {
  return at < line.length ? (KINDS[line.charCodeAt(at)] ?? SIGN) : SIGN;
}

function scoreOf(line: string): number {
  if (!/[\p{L}\p{N}]/u.test(line)) return 0;
  const specific = Math.min(4, new Set(specificStrings(line)).size);
  const numbers = Math.min(3, line.match(NUMBER)?.length ?? 0);
  const facts =
    (PAIR.test(line) ? 1.5 : 0) + (STATED.test(line) ? 1 : 0) + (isErrorLine(line, false) ? 4 : 0);
  return 0.5 + specific + numbers * 0.75 + facts;
}

/** Lines of a text; those that are too long are split at the end of a field or a word. */
function linesOf(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    if (line.length <= MOST_LINE) return [line];
    const pieces: string[] = [];
    for (let from = 0; from < line.length;) {
      const part = line.slice(from, from + MOST_LINE);
      const end = from + MOST_LINE >= line.length ? part.length : pieceEnd(part);
      pieces.push(part.slice(0, end));
      from += end;
    }
    return pieces;
  });
}

function pieceEnd(part: string): number {
  const at = Math.max(...[",", ";", "}", " "].map((mark) => part.lastIndexOf(mark))) + 1;
  if (at > part.length / 2) return at;
  return /[\uD800-\uDBFF]/.test(part.charAt(part.length - 1)) ? part.length - 1 : part.length;
}

/** Lines with their scores. A frequent shape scores lower, a repeated line 0. */
function scored(lines: readonly string[]): Line[] {
  const shapes = lines.map(shapeOf);
  const counts = new Map<string, number>();
  for (const shape of shapes) counts.set(shape, (counts.get(shape) ?? 0) + 1);
  const seen = new Set<string>();
  return lines.map((text, at) => {
    const words = text.trim();
    const isRepeated = seen.has(words);
    seen.add(words);
    const often = counts.get(shapes[at] ?? "") ?? 1;
    return { text, at, score: isRepeated ? 0 : scoreOf(text) / Math.sqrt(often) };
  });
}

/** Chooses lines in their order, skipping those that do not fit; returns the rest of the budget. */
function take(lines: readonly Line[], chosen: Set<number>, budget: number): number {
  let left = budget;
  for (const { text, at } of lines) {
    const cost = text.length + 1 + (chosen.has(at - 1) || chosen.has(at + 1) ? 0 : GAP_CHARS);
    if (chosen.has(at) || cost > left) continue;
    chosen.add(at);
    left -= cost;
  }
  return left;
}

/** Chooses lines from one end, up to the first that does not fit. */
function edge(lines: readonly Line[], chosen: Set<number>, budget: number): void {
  let left = budget;
  for (const { text, at } of lines) {
    left -= text.length + 1;
    if (left < 0) return;
    chosen.add(at);
  }
}

/** Minimum score of a line that is useful by itself. */
const LEAST_FACT = 3;

/** The lines of a text with the most facts, at most `most`, in text order; empty when no line has enough. */
export function factLines(text: string, most: number): string[] {
  return scored(linesOf(text))
    .filter(({ score }) => score >= LEAST_FACT)
    .toSorted((a, b) => b.score - a.score || a.at - b.at)
    .slice(0, most)
    .toSorted((a, b) => a.at - b.at)
    .map((line) => line.text.trim());
}

/** The text itself when it is short enough, else some of its whole lines in order, with notes on omitted ones. */
export function excerpt(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const lines = scored(linesOf(text));
  const chosen = new Set<number>();
  edge(lines, chosen, maxChars * HEAD_SHARE);
  edge(lines.toReversed(), chosen, maxChars * TAIL_SHARE);
  let used = 2 * GAP_CHARS;
  for (const at of chosen) used += (lines[at]?.text.length ?? 0) + 1;
  const ranked = lines
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score / costOf(b) - a.score / costOf(a) || a.at - b.at);
  take(ranked, chosen, maxChars - used);
  const shown: string[] = [];
  let next = 0;
  for (const at of [...chosen].toSorted((a, b) => a - b)) {
    if (at > next) shown.push(gapNote(at - next));
    shown.push(lines[at]?.text ?? "");
    next = at + 1;
  }
  if (next < lines.length) shown.push(gapNote(lines.length - next));
  return shown.join("\n");
}

/** Divisor of a line's score: facts are less dense in a long line. */
function costOf({ text }: Line): number {
  return Math.sqrt(text.length + 20);
}

function gapNote(count: number): string {
  return `[... ${count} ${count === 1 ? "line" : "lines"} ...]`;
}
