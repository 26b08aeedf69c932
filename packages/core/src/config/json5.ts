/** Reads JSON5. The parser is loaded only for a text that is not plain JSON (9 ms). */
import { createRequire } from "node:module";
import type { JsonValueNode } from "@croct/json5-parser";
import { PagurusError } from "@pagurus/contract/errors";

/** Reserved words, which the parser refuses as bare keys. */
export const RESERVED_WORD =
  /^(?:break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|export|extends|false|finally|for|function|if|implements|import|in|instanceof|interface|let|new|null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|var|void|while|with|yield)$/;

type Json5Library = typeof import("@croct/json5-parser");

let library: Json5Library | undefined;

export function json5Library(): Json5Library {
  library ??= createRequire(import.meta.url)("@croct/json5-parser") as Json5Library;
  return library;
}

/** Strips what editors add to a configuration file. An empty file is an empty object. */
export function normalizeText(text: string): string {
  const bare = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return bare.trim() === "" ? "{}\n" : bare;
}

/** Throws `config_invalid` with file, line and column. */
export function parseJson5(text: string, file: string): unknown {
  const source = normalizeText(text);
  try {
    return JSON.parse(source) as unknown;
  } catch {
    // Not plain JSON, but maybe JSON5.
    return parseJson5Tree(source, file).root.toJSON();
  }
}

export interface Json5Tree {
  root: JsonValueNode;
  /** The text that the tree's positions refer to, in code points. */
  source: string;
  /** Maps a position of `source` to the parsed text. */
  original(position: number): number;
}

/**
 * The document with its comments and spaces. The parser refuses bare keys that are reserved words (`default`), which JSON5
 * allows, so `source` has them in quotes. Throws as `parseJson5`.
 */
export function parseJson5Tree(text: string, file: string): Json5Tree {
  const { JsonLexer, JsonParser, JsonParseError } = json5Library();
  try {
    return { root: JsonParser.parse(text), source: text, original: (position) => position };
  } catch (error) {
    if (error instanceof JsonParseError && error.message.startsWith("Reserved identifier")) {
      const quotes: number[] = [];
      let length = 0;
      const quoted = JsonLexer.tokenize(text).map(({ type, value }) => {
        const bare = type === "IDENTIFIER" && RESERVED_WORD.test(value);
        if (bare) quotes.push(length, length + value.length + 1);
        length += bare ? value.length + 2 : [...value].length;
        return bare ? `"${value}"` : value;
      });
      const source = quoted.join("");
      if (source !== text) {
        const original = (position: number): number =>
          position - quotes.filter((quote) => quote < position).length;
        return { ...parseJson5Tree(source, file), original };
      }
    }
    const start = error instanceof JsonParseError ? error.location.start : { line: 1, column: 1 };
    throw new PagurusError(
      "config_invalid",
      `${file}:${start.line}:${start.column} is not valid JSON5 (${describeParseError(error)}); correct that place.`,
      { cause: error, details: { file, line: start.line, column: start.column } },
    );
  }
}

/** The parser's names of tokens, as a person calls them. */
const TOKENS: Readonly<Record<string, string>> = {
  BRACE_LEFT: '"{"',
  BRACE_RIGHT: '"}"',
  BRACKET_LEFT: '"["',
  BRACKET_RIGHT: '"]"',
  COLON: '":"',
  COMMA: '","',
  EOF: "the end of the file",
  IDENTIFIER: "a word without quotes",
  STRING: "a text in quotes",
  NUMBER: "a number",
};

function describeParseError(error: unknown): string {
  if (error instanceof RangeError) return "nested too deeply";
  if (!(error instanceof json5Library().JsonParseError)) return "a number or word that JSON5 does not have";
  const message = error.message
    .replace(/ at \d+:\d+.*$/s, "")
    .replaceAll(/\b[A-Z][A-Z_]{2,}\b/g, (token) => TOKENS[token] ?? token.toLowerCase().replaceAll("_", " "));
  // The parser's quote may be a value, and a value may be a provider's key.
  return message.replace(/'[^']{13,}'$/, "text");
}
