/**
 * The front matter of a Markdown file: the part of YAML that skills and commands are written in. Reads scalars of every
 * style; skips lists and maps. A plain value is the rest of its line, as other programs read `argument-hint: [issue] [file]`
 * and `description: Use it: always`, which a YAML parser rejects.
 */

export interface FrontMatter {
  /** Scalars by key; a key with a list or map is absent. */
  fields: ReadonlyMap<string, string>;
  /** All keys. */
  keys: ReadonlySet<string>;
  /** The text after it. */
  body: string;
}

interface Line {
  text: string;
  /** Line number in the file, from 1. */
  number: number;
}

const OPENING = /^\ufeff?---[ \t]*\n/;
const KEY = /^(?:([A-Za-z_][\w.-]*)|"([^"]+)"|'([^']+)')[ \t]*:(?:[ \t]+(.*))?$/;
const BLOCK = /^([|>])(?:([+-])?([1-9])?|([1-9])([+-]))(?:[ \t]+#.*)?$/;

/** Undefined when the text has none; `problem` is the end of a sentence about the file. */
export function readFrontMatter(source: string): FrontMatter | { problem: string } | undefined {
  const text = source.replaceAll("\r\n", "\n");
  const opening = OPENING.exec(text);
  if (!opening) return undefined;
  const rest = text.slice(opening[0].length);
  const closing = /^---[ \t]*(?:\n|$)/m.exec(rest);
  if (!closing) return { problem: "its front matter has no closing `---`" };
  const lines = rest
    .slice(0, closing.index)
    .split("\n")
    .map((line, index): Line => ({ text: line, number: index + 2 }));
  const fields = new Map<string, string>();
  const seen = new Set<string>();
  for (let at = 0; at < lines.length;) {
    const line = lines[at] as Line;
    at += 1;
    if (/^\s*(?:#.*)?$/.test(line.text)) continue;
    const match = KEY.exec(line.text);
    if (!match) return { problem: `line ${line.number} of its front matter is not \`key: value\`` };
    const key = match[1] ?? match[2] ?? match[3] ?? "";
    if (seen.has(key)) return { problem: `its front matter has the key "${key}" twice` };
    seen.add(key);
    const below: Line[] = [];
    while (at < lines.length && isBelow(lines[at] as Line)) below.push(lines[at++] as Line);
    const value = valueOf((match[4] ?? "").trim(), below);
    if (typeof value === "object")
      return { problem: `the value of "${key}" (line ${line.number}) ${value.problem}` };
    if (value !== undefined) fields.set(key, value);
  }
  return { fields, keys: seen, body: rest.slice(closing.index + closing[0].length) };
}

/** Whether a line continues the value above it. */
function isBelow({ text }: Line): boolean {
  return text.trim() === "" || /^[ \t]/.test(text) || /^-(?:[ \t]|$)/.test(text);
}

function valueOf(first: string, below: readonly Line[]): string | undefined | { problem: string } {
  const block = BLOCK.exec(first);
  if (block) return blockText(block[1] === ">", Number(block[3] ?? block[4] ?? 0), below);
  const texts = below.map(({ text }) => text.trim());
  if (first.startsWith('"') || first.startsWith("'")) return quoted(folded([first, ...texts]));
  if (/^[&*!%@`]/.test(first)) return { problem: `begins with "${first[0] ?? ""}"; quote it` };
  if (first === "" || first.startsWith("#")) {
    const structured = texts.some((text) => /^(?:- |-$|[{[])/.test(text) || KEY.test(text));
    return structured || texts.every((text) => text === "") ? undefined : plain(texts);
  }
  return plain([first, ...texts]);
}

/** Removes comments, which begin after a space; a comment line does not end the value. */
function plain(lines: readonly string[]): string {
  return folded(lines.map((line) => line.replace(/(?:^|(?<![ \t])[ \t]+)#.*$/, "")));
}

/** Folds the lines of one value: a line break is a space, an empty line a line break. */
function folded(lines: readonly string[]): string {
  let text = "";
  for (const line of lines.map((each) => each.trim())) {
    if (line === "") text += "\n";
    else text += text === "" || text.endsWith("\n") ? line : ` ${line}`;
  }
  return text.trim();
}

function quoted(text: string): string | { problem: string } {
  const single = /^'((?:[^']|'')*)'(?:[ \t]+#.*)?$/s.exec(text);
  if (single) return (single[1] ?? "").replaceAll("''", "'");
  const double = /^("(?:[^"\\]|\\.)*")(?:[ \t]+#.*)?$/s.exec(text);
  if (!double) return { problem: "has a quote that is not closed, or text after it" };
  try {
    return JSON.parse((double[1] ?? "").replaceAll("\n", "\\n")) as string;
  } catch {
    // YAML has more escapes than JSON; they are not needed here.
    return { problem: "has an escape that is not known" };
  }
}

/** The indentation is the declared one, else that of the first line with text. */
function blockText(fold: boolean, declared: number, below: readonly Line[]): string {
  const first = below.find(({ text }) => text.trim() !== "");
  const indent = declared > 0 ? declared : (/^[ \t]*/.exec(first?.text ?? "")?.[0].length ?? 0);
  const lines = below.map(({ text }) => text.slice(indent).trimEnd());
  return fold ? folded(lines) : lines.join("\n").trim();
}
