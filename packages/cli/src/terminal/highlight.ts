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

/** Longer code is shown without colours: a block is formatted again with each piece that streams. Characters. */
const MOST_CHARACTERS = 20_000;

/** The lines of a code block with colours; without them for an unknown language. */
export function highlightCode(code: string, language: string | undefined): string[] {
  const name = language?.toLowerCase() ?? "";
  if (code.length > MOST_CHARACTERS || !hljs.getLanguage(name)) return code.split("\n");
  const { value } = hljs.highlight(code, { language: name, ignoreIllegals: true });
  return coloured(value).split("\n");
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
