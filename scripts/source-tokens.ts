/** Comments, strings and regular expressions of a TypeScript source, found without a parser. */

const TOKENS =
  /(?<comment>\/\*[^]*?\*\/|\/\/[^\n]*)|(?<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[^]|[^`\\])*`)|(?<regex>(?<=[=(,:?!&|[{;]\s*|=>\s*|return )\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*)/g;

export interface SourceToken {
  kind: "comment" | "text" | "regex";
  text: string;
  index: number;
}

export function* sourceTokens(source: string): Generator<SourceToken> {
  for (const found of source.matchAll(TOKENS)) {
    const kind =
      found.groups?.["comment"] !== undefined
        ? "comment"
        : found.groups?.["text"] !== undefined
          ? "text"
          : "regex";
    yield { kind, text: found[0], index: found.index };
  }
}

/** The source with the named kinds of tokens replaced by spaces: places and lines stay. */
export function blanked(source: string, kinds: readonly SourceToken["kind"][]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { kind, text, index } of sourceTokens(source)) {
    if (!kinds.includes(kind)) continue;
    parts.push(source.slice(from, index), text.replaceAll(/[^\n]/g, " "));
    from = index + text.length;
  }
  return parts.join("") + source.slice(from);
}

/** The number of the line, from 1, at an index of the source. */
export function lineAt(source: string, index: number): number {
  return source.slice(0, index).split("\n").length;
}
