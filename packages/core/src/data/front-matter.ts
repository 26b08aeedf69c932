/**
 * The front matter of a Markdown file: the part of YAML that skills, commands and rules are written in. Reads scalars of every
 * style and lists of them; skips maps. A plain value is the rest of its line, as other programs read `argument-hint: [issue] [file]`,
 * `description: Use it: always` and `paths: *.ts`, which a YAML parser rejects.
 */

export interface FrontMatter {
  /** Scalars by key; a key with a list of lines or a map is absent. */
  fields: ReadonlyMap<string, string>;
  /** Lists of scalars by key: `paths: ["src/**", lib/**]`, `"src/**", "lib/**"`, or an item a line. */
  lists: ReadonlyMap<string, readonly string[]>;
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
  const lists = new Map<string, readonly string[]>();
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
    const first = (match[4] ?? "").trim();
    for (; at < lines.length && isBelow(lines[at] as Line, first); at += 1)
      if (!(lines[at] as Line).text.startsWith("#")) below.push(lines[at] as Line);
    const list = listedValues(first, below);
    if (list) lists.set(key, list);
    const value = valueOf(first, below);
    if (typeof value === "object" && list) continue;
    if (typeof value === "object")
      return { problem: `the value of "${key}" (line ${line.number}) ${value.problem}` };
    if (value !== undefined) fields.set(key, value);
  }
  return { fields, lists, keys: seen, body: rest.slice(closing.index + closing[0].length) };
}

/** Whether a line continues the value above it. */
function isBelow({ text }: Line, first: string): boolean {
  if (text.startsWith("#") || (first.startsWith("[") && text.startsWith("]"))) return true;
  return text.trim() === "" || /^[ \t]/.test(text) || /^-(?:[ \t]|$)/.test(text);
}

const COMMENT_LINE = /^\s*(?:#.*)?$/;
/** A name of another value, a tag, or a sign that YAML keeps for later; `**` and `*.ts` are none. */
const RESERVED = /^(?:[&!%@`]|\*[\w-]*$)/;

/** The items of a list of scalars; undefined for anything else. */
function listedValues(first: string, below: readonly Line[]): string[] | undefined {
  const isBare = first === "" || first.startsWith("#");
  const lines = below.map(({ text }) => text).filter((text) => !COMMENT_LINE.test(text));
  if (isBare) return itemsOfLines(lines) ?? itemsInBrackets(lines.join("\n").trim());
  const text = [first, ...lines].join("\n");
  if (first.startsWith("[")) return itemsInBrackets(text);
  return /^["']/.test(first) && typeof quoted(text) === "object" ? itemsInBrackets(`[${text}\n]`) : undefined;
}

/** `- src/*` on each line. */
function itemsOfLines(lines: readonly string[]): string[] | undefined {
  const items: string[] = [];
  for (const line of lines) {
    const written = /^[ \t]*-[ \t]+(.*)$/.exec(line)?.[1]?.trim() ?? "";
    const isScalar = written !== "" && !/^(?:- |[|>]|\{[^}]*: )/.test(written) && !KEY.test(written);
    const item = isScalar ? listItem(written) : undefined;
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items.length > 0 ? items : undefined;
}

function listItem(written: string): string | undefined {
  if (RESERVED.test(written)) return undefined;
  const value = /^["']/.test(written) ? quoted(written) : plain([written]);
  return typeof value === "object" ? undefined : value;
}

const BLANKS = /(?:\s|(?<=[\s,[])#.*)*/y;
const QUOTED = /"(?:[^"\\]|\\[^])*"|'(?:[^']|'')*'/y;
/** Braces and brackets belong to a pattern: `src/*.{ts,tsx}`, `[a-z]*.md`. */
const BARE = /(?:\{[^}\n]*\}|\[[^\]\n]*\]|[^\s,[\]{}"'#]|(?<=\S)#|[ \t]+(?=[^\s,\]#]))+/y;

/** `[a, "b, c"]`, also over several lines. */
function itemsInBrackets(text: string): string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  const items: string[] = [];
  let at = 1;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  };
  for (let mark = ","; mark === ",";) {
    take(BLANKS);
    const written = take(QUOTED) || take(BARE);
    take(BLANKS);
    mark = text[at] ?? "";
    at += 1;
    if (mark !== "]" && (mark !== "," || written === "")) return undefined;
    if (written === "") break;
    const item = listItem(written);
    if (item === undefined) return undefined;
    items.push(item);
  }
  take(BLANKS);
  return at === text.length ? items : undefined;
}

function valueOf(first: string, below: readonly Line[]): string | undefined | { problem: string } {
  const block = BLOCK.exec(first);
  if (block) return blockText(block[1] === ">", Number(block[3] ?? block[4] ?? 0), below);
  const texts = below.map(({ text }) => text.trim());
  if (first.startsWith('"') || first.startsWith("'")) return quoted(foldedLines([first, ...texts]));
  if (RESERVED.test(first)) return { problem: `begins with "${first[0] ?? ""}"; quote it` };
  if (first === "" || first.startsWith("#")) {
    const structured = texts.some((text) => /^(?:- |-$|[{[])/.test(text) || KEY.test(text));
    return structured || texts.every((text) => text === "") ? undefined : plain(texts);
  }
  return plain([first, ...texts]);
}

/** Removes comments, which begin after a space; a comment line does not end the value. */
function plain(lines: readonly string[]): string {
  return foldedLines(lines.map((line) => line.replace(/(?:^|(?<![ \t])[ \t]+)#.*$/, "")));
}

/** Folds the lines of one value: a line break is a space, an empty line a line break. */
function foldedLines(lines: readonly string[]): string {
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
  return fold ? foldedLines(lines) : lines.join("\n").trim();
}
