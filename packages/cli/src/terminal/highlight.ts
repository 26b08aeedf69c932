/** Colours of code blocks, by highlight.js; only the languages that agents write most. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { styleText } from "node:util";

const LANGUAGES = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

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

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
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
    if (!hljs.getLanguage(name)) return code.split("\n");
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
  return coloured(hljs.highlight(code, { language, ignoreIllegals: true }).value).split("\n");
}

/** `<span class="hljs-keyword">const</span> x` as terminal colours, which end with each line. */
function coloured(html: string): string {
  const open: (Format | undefined)[] = [];
  let text = "";
  for (const [, opened, closed, words = ""] of html.matchAll(
    /<span class="hljs-([\w-]+)[^"]*">|(<\/span>)|([^<]+)/g,
  )) {
    if (opened !== undefined) open.push(FORMATS[opened] ?? open.at(-1));
    else if (closed !== undefined) open.pop();
    else {
      const plain = words.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity] ?? entity);
      const format = open.at(-1);
      text += format
        ? plain.replace(/[^\n]+/g, (line) => styleText(format, line, { validateStream: false }))
        : plain;
    }
  }
  return text;
}
