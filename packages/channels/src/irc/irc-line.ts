/** One line of the IRC protocol, as an object and back, and texts as lines that fit. */
import { plainText } from "@pagurus/core/data/plain-text";

export interface IrcLine {
  /** Message tags of IRCv3, unescaped; empty where the server sends none. */
  tags: Readonly<Record<string, string>>;
  /** `nick!user@host` of a person, the name of a server, or empty. */
  source: string;
  /** In upper case; a numeric as its three digits. */
  command: string;
  params: readonly string[];
}

const TAG_ESCAPES: Readonly<Record<string, string>> = { ":": ";", s: " ", r: "\r", n: "\n", "\\": "\\" };

function tagsOf(text: string): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const tag of text.split(";")) {
    const [, name = "", value = ""] = /^([^=]*)=?([^]*)$/.exec(tag) ?? [];
    tags[name] = value.replaceAll(/\\(.?)/g, (_whole, letter: string) => TAG_ESCAPES[letter] ?? letter);
  }
  return tags;
}

/** Undefined for a line without a command. */
export function parseLine(text: string): IrcLine | undefined {
  const [, tags, source, command, rest = ""] =
    /^(?:@([^ ]+) +)?(?::([^ ]+) +)?([A-Za-z]+|\d{3})((?: [^]*)?)$/.exec(text) ?? [];
  if (command === undefined) return undefined;
  const [, middle = "", trailing] = /^((?: +[^: ][^ ]*)*)(?: +:([^]*))? *$/.exec(rest) ?? [];
  const params = middle.split(" ").filter((param) => param !== "");
  if (trailing !== undefined) params.push(trailing);
  return {
    tags: tags === undefined ? {} : tagsOf(tags),
    source: source ?? "",
    command: command.toUpperCase(),
    params,
  };
}

/** Whether a numeric is about one of these names, or names none. */
export function isAbout({ params }: IrcLine, names: readonly string[]): boolean {
  const [, name = ""] = params;
  return params.length < 3 || names.some((each) => each.toLowerCase() === name.toLowerCase());
}

/** A line to send, without its end; a line break in a parameter cannot begin a command of its own. */
export function formatLine(command: string, ...params: readonly string[]): string {
  const clean = params.map((param) => param.replaceAll(/[\0\r\n]+/g, " "));
  const last = clean.at(-1);
  const middle = clean.slice(0, -1);
  return [command, ...middle, ...(last === undefined ? [] : [`:${last}`])].join(" ");
}

/** Colours, whose digits are visible; the other formatting is of control characters. */
const COLOUR_CODES = /\u0003(?:\d{1,2}(?:,\d{1,2})?)?|\u0004(?:[0-9a-f]{6}(?:,[0-9a-f]{6})?)?/gi;

/** What a person reads in a line that someone sent. */
export function plainLineText(text: string): string {
  return plainText(text.replaceAll(COLOUR_CODES, ""))
    .replaceAll(/[\t\n]/g, " ")
    .trim();
}

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Splits what no space splits: between characters as people see them; one that alone is too long between code points. */
function wordPieces(word: string, max: number): string[] {
  const found: string[] = [];
  let piece = "";
  const add = (part: string): void => {
    if (Buffer.byteLength(piece + part) > max) {
      found.push(piece);
      piece = "";
    }
    piece += part;
  };
  for (const { segment } of GRAPHEMES.segment(word)) {
    if (Buffer.byteLength(segment) <= max) add(segment);
    else for (const point of segment) add(point);
  }
  return [...found, piece].filter((part) => part !== "");
}

/**
 * The text as lines of at most `max` bytes of UTF-8 (4 or more): one for each of its own, long ones split at spaces. Empty lines are
 * left out, which IRC cannot send.
 */
export function linesOf(text: string, max: number): string[] {
  return text
    .toWellFormed()
    .split(/[\r\n]+/)
    .flatMap((own) => {
      const lines: string[] = [];
      let line = "";
      const words = own.match(/\s*\S+/g) ?? [];
      for (const word of words) {
        if (Buffer.byteLength(line + word) <= max) {
          line += word;
          continue;
        }
        const [last = "", ...before] = wordPieces(line === "" ? word : word.trimStart(), max).toReversed();
        lines.push(line, ...before.toReversed());
        line = last;
      }
      return [...lines, line].filter((each) => each.trim() !== "");
    });
}
