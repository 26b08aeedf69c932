/** Code in pieces of one kind each, by highlight.js, with the languages that agents write most: for the page and for terminals. */
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

/** A run of characters of one kind, such as `keyword` or `string`; without a kind it is plain. */
export interface CodePiece {
  text: string;
  kind?: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

export function isHighlightLanguage(language: string): boolean {
  return hljs.getLanguage(language) !== undefined;
}

/**
 * Undefined for a language without colours here. The library's spans are read as data; they are never markup. A span whose kind
 * `isUsed` refuses has the one around it.
 */
export function highlightedCode(
  code: string,
  language: string,
  isUsed: (kind: string) => boolean = () => true,
): CodePiece[] | undefined {
  const name = language.toLowerCase();
  if (!isHighlightLanguage(name)) return undefined;
  const { value } = hljs.highlight(code, { language: name, ignoreIllegals: true });
  const open: (string | undefined)[] = [];
  const pieces: CodePiece[] = [];
  for (const [, opened, closed, words = ""] of value.matchAll(/<span class="([^"]*)">|(<\/span>)|([^<]+)/g)) {
    // Code of another language inside, such as a script of a page, has the colour of what is around it.
    if (opened !== undefined) {
      const kind = /^hljs-([\w-]+)/.exec(opened)?.[1];
      open.push(kind !== undefined && isUsed(kind) ? kind : open.at(-1));
    } else if (closed !== undefined) open.pop();
    else {
      const text = words.replaceAll(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity] ?? entity);
      const kind = open.at(-1);
      pieces.push(kind === undefined ? { text } : { text, kind });
    }
  }
  return pieces;
}
