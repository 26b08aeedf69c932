/** Path patterns: `*` and `?` within a folder, `**` across folders, `[a-z]`, `{a,b}`, `\` before a literal. */
import { ToolError } from "./tool-error.ts";

/** Longer patterns are no patterns that somebody wrote for files. */
const MOST_CHARACTERS = 1_000;

export function escapeGlob(text: string): string {
  return text.replaceAll(/[*?[\]{}\\]/g, String.raw`\$&`);
}

function escapeLiteral(character: string): string {
  return /[\^$\\.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** The end of a character class that starts at `from`, or -1 where it is not closed. */
function classEnd(pattern: string, from: number): number {
  // A `]` right after the opening (or its negation) stands for itself.
  const first = /[!^]/.test(pattern[from + 1] ?? "") ? from + 2 : from + 1;
  return pattern.indexOf("]", first + 1);
}

function classSource(body: string): string {
  const negated = /^[!^]/.test(body);
  const inner = (negated ? body.slice(1) : body).replaceAll(/[\\\]^[]/g, String.raw`\$&`);
  return `(?!/)[${negated ? "^" : ""}${inner}]`;
}

function starsSource(pattern: string, at: number): { source: string; length: number } {
  const stars = /^\*+/.exec(pattern.slice(at))?.[0].length ?? 1;
  const opens = at === 0 || pattern[at - 1] === "/";
  if (stars > 1 && opens && pattern[at + stars] === "/") return { source: "(?:[^/]+/)*", length: stars + 1 };
  if (stars > 1 && opens && at + stars === pattern.length) return { source: ".+", length: stars };
  return { source: "[^/]*", length: stars };
}

function bracesBalance(pattern: string): boolean {
  let depth = 0;
  for (const character of pattern.replaceAll(/\\./gs, "")) {
    if (character === "{") depth += 1;
    else if (character === "}" && --depth < 0) return false;
  }
  return depth === 0;
}

function regexSource(pattern: string, braces: boolean): string {
  let source = "";
  let depth = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    const end = character === "[" ? classEnd(pattern, at) : -1;
    if (character === "\\" && at + 1 < pattern.length) source += escapeLiteral(pattern.charAt(++at));
    else if (character === "*") {
      const stars = starsSource(pattern, at);
      source += stars.source;
      at += stars.length - 1;
    } else if (character === "?") source += "[^/]";
    else if (end > at) {
      source += classSource(pattern.slice(at + 1, end));
      at = end;
    } else if (braces && character === "{") {
      source += "(?:";
      depth += 1;
    } else if (braces && character === "}") {
      source += ")";
      depth -= 1;
    } else if (depth > 0 && character === ",") source += "|";
    else source += escapeLiteral(character);
  }
  return source;
}

/** A test of paths with `/`. Throws `ToolError` for a pattern that cannot be read. */
export function globMatcher(pattern: string, options: { braces?: boolean } = {}): (path: string) => boolean {
  if (pattern.length > MOST_CHARACTERS) {
    throw new ToolError(`A pattern may have ${MOST_CHARACTERS} characters at most.`);
  }
  const braces = (options.braces ?? true) && bracesBalance(pattern);
  let expression: RegExp;
  try {
    expression = new RegExp(`^${regexSource(pattern, braces)}$`, "su");
  } catch {
    throw new ToolError(`The pattern "${pattern}" cannot be read; check its [ ] ranges.`);
  }
  return (path) => expression.test(path);
}
