/** Colours of code blocks in a terminal. */
import { highlightedCode, isHighlightLanguage } from "@pagurus/core/highlight/highlighted-code";
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

/** Format of a scope's first word: `title.function_` is a `title`. Colours that are read on a light and a dark ground. */
const FORMATS: Readonly<Record<string, Format>> = {
  keyword: "magenta",
  literal: "magenta",
  string: "green",
  regexp: "green",
  number: "yellow",
  comment: "gray",
  doctag: "gray",
  title: "blue",
  built_in: "cyan",
  type: "cyan",
  attr: "cyan",
  attribute: "cyan",
  name: "blue",
  tag: "blue",
  meta: "gray",
  section: "bold",
  addition: "green",
  deletion: "red",
};

/** Characters of the parts in which code is coloured: a block that streams is formatted again with each piece, and only its last part is new. */
const PART = 1_000;
const MOST_PART = 2 * PART;
/** Parts whose colours are kept: those of the blocks that are on the screen. */
const MOST_KEPT = 64;

export type Highlight = (code: string, language?: string) => string[];

/** A function that gives the lines of a code block with colours; without them for an unknown language. */
export function highlighter(): Highlight {
  const kept = new Map<string, readonly string[]>();
  return (code, language) => {
    const name = language?.toLowerCase() ?? "";
    if (!isHighlightLanguage(name)) return code.split("\n");
    return partsOf(code).flatMap((part) => {
      const key = `${name}\0${part}`;
      const lines = kept.get(key) ?? linesOf(part, name);
      kept.delete(key);
      kept.set(key, lines);
      for (const oldest of kept.keys()) {
        if (kept.size <= MOST_KEPT) break;
        kept.delete(oldest);
      }
      return lines;
    });
  };
}

/**
 * Code in parts of whole lines, which end before an empty line and a line that is not indented, or else when they are long. More code
 * changes the last part alone. A comment or text of many lines that begins in one part is not known in the next.
 */
export function partsOf(code: string): string[] {
  const parts: string[] = [];
  let from = 0;
  while (code.length - from > PART) {
    const window = code.slice(from + PART, from + MOST_PART + 2);
    const block = window.search(/\n\n(?=\S)/);
    let end = block === -1 ? -1 : from + PART + block + 1;
    if (end === -1 && code.length - from > MOST_PART + 2) end = code.indexOf("\n", from + MOST_PART);
    if (end === -1) break;
    parts.push(code.slice(from, end));
    from = end + 1;
  }
  return [...parts, code.slice(from)];
}

function linesOf(code: string, language: string): string[] {
  // One line without an end.
  if (code.length > 2 * MOST_PART) return code.split("\n");
  const pieces = highlightedCode(code, language, (kind) => kind in FORMATS) ?? [{ text: code }];
  return pieces
    .map(({ text, kind }) => coloured(text, FORMATS[kind ?? ""]))
    .join("")
    .split("\n");
}

/** Text in a terminal's colour, which ends with each line. */
function coloured(text: string, format: Format | undefined): string {
  return format === undefined
    ? text
    : text.replace(/[^\n]+/g, (line) => styleText(format, line, { validateStream: false }));
}
