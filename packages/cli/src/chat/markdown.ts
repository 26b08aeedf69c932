/**
 * Streaming Markdown renderer for a terminal with colours: each piece is written once and never moved, so a resize cannot
 * damage it. A span (bold, code, a link) is buffered until its end, a table until its last row; an unclosed one is shown raw.
 */
import { stripVTControlCharacters } from "node:util";
import { textWidth } from "@pagurus/host/command/layout";
import type { TextRenderer } from "../run/turn-output.ts";

/** Escape codes that switch a style on and off. */
type Code = readonly [on: string, off: string];
const sgr = (on: number, off: number): Code => [`\u001b[${on}m`, `\u001b[${off}m`];
const BOLD = sgr(1, 22);
const DIM = sgr(2, 22);
const ITALIC = sgr(3, 23);
const UNDERLINE = sgr(4, 24);
const STRIKE = sgr(9, 29);
const CYAN = sgr(36, 39);

/** Maximum buffered characters of a span, and rows of a table. */
const MOST_HELD = 400;
const MOST_TABLE_ROWS = 200;

function styled(text: string, codes: readonly Code[]): string {
  if (text === "") return "";
  return (
    codes.map(([on]) => on).join("") +
    text +
    codes
      .toReversed()
      .map(([, off]) => off)
      .join("")
  );
}

interface Span {
  /** Pattern at the start of the rest of a line. */
  match: RegExp;
  /** Its first characters; text that begins so may still become one. */
  opens: RegExp;
  /** Not allowed within a word. */
  apart?: boolean;
  show(found: RegExpExecArray, codes: readonly Code[]): string;
}

const within = (code: Code) => (found: RegExpExecArray, codes: readonly Code[]) =>
  inline(found[1] ?? "", [...codes, code]);

const SPANS: readonly Span[] = [
  { match: /^\\([!-/:-@[-`{-~])/, opens: /^\\$/, show: ([, char = ""], codes) => styled(char, codes) },
  {
    match: /^(`+)(?!`)([^\n]*?[^`\n])\1(?!`)/,
    opens: /^`/,
    show: ([, , code = ""], codes) => styled(code, [...codes, CYAN]),
  },
  { match: /^\*\*(?=\S)([^\n]*?[^\s*])\*\*(?!\*)/, opens: /^\*(\*(\S|$)|$)/, show: within(BOLD) },
  { match: /^__(?=\S)([^\n]*?\S)__(?!\w)/, opens: /^_(_(\S|$)|$)/, apart: true, show: within(BOLD) },
  {
    match: /^\*(?=[^\s*])([^\n*]*?[^\s*])\*(?!\*)/,
    opens: /^\*([^\s*]|$)/,
    apart: true,
    show: within(ITALIC),
  },
  { match: /^_(?=[^\s_])([^\n_]*?[^\s_])_(?!\w)/, opens: /^_([^\s_]|$)/, apart: true, show: within(ITALIC) },
  { match: /^~~(?=\S)([^\n]*?\S)~~/, opens: /^~(~(\S|$)|$)/, show: within(STRIKE) },
  {
    match: /^\[([^\]\n]+)\]\(([^)\s]+)\)/,
    opens: /^\[[^\]\n]*(\](\([^)\s]*)?)?$/,
    show: ([, text = "", url = ""], codes) => {
      const shown = styled(text, [...codes, UNDERLINE]);
      return text === url ? shown : shown + styled(` (${url})`, [...codes, DIM]);
    },
  },
];
const SPECIAL = /[\\`*_~[]/;

/** Renders a complete text of one line, or a part of one. */
function inline(text: string, codes: readonly Code[]): string {
  return inlinePart(text, codes, { final: true, before: "" }).shown;
}

/** Renders what is certain of `text` and returns the rest. `before`: the preceding character. */
function inlinePart(
  text: string,
  codes: readonly Code[],
  { final, before }: { final: boolean; before: string },
): { shown: string; rest: string } {
  let shown = "";
  let plain = "";
  let rest = text;
  let last = before;
  const take = (count: number): void => {
    plain += rest.slice(0, count);
    last = rest.charAt(count - 1);
    rest = rest.slice(count);
  };
  while (rest !== "") {
    const at = rest.search(SPECIAL);
    if (at !== 0) {
      take(at === -1 ? rest.length : at);
      continue;
    }
    const inWord = /\w/.test(last);
    const possible = SPANS.filter(({ apart, opens }) => opens.test(rest) && !(apart === true && inWord));
    const span = SPANS.filter(({ apart }) => !(apart === true && inWord)).find(({ match }) =>
      match.test(rest),
    );
    const found = span?.match.exec(rest);
    // Further characters may still belong to it.
    const whole = found && (final || found[0].length < rest.length);
    if (span && found && whole) {
      shown += styled(plain, codes) + span.show(found, codes);
      plain = "";
      last = found[0].at(-1) ?? "";
      rest = rest.slice(found[0].length);
    } else if (!final && (found || possible.length > 0) && rest.length < MOST_HELD) break;
    else take(/^(\*+|_+|`+|~+|[^])/.exec(rest)?.[0].length ?? 1);
  }
  return { shown: shown + styled(plain, codes), rest };
}

/** Start of a line that may still become a block mark. */
const UNDECIDED =
  /^ {0,3}(`{1,2}|~{1,2}|(-{2,}|\*{2,}|_{2,})\s*)$|^( {0,3}> ?)?(\s*| {0,3}#{1,6} *|\s*([-*+>]|\d{1,3}[.)]?))$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const RULE = /^ {0,3}(-{3,}|\*{3,}|_{3,})\s*$/;
const HEADING = /^ {0,3}(#{1,6}) +/;
const ITEM = /^(\s*)([-*+]|\d{1,3}[.)]) /;
const QUOTE = /^ {0,3}> ?/;
const DELIMITER = /^\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$/;

export class MarkdownStream implements TextRenderer {
  readonly #columns: () => number;
  /** Received and not yet shown. */
  #held = "";
  /** Nothing of the line is shown yet. */
  #lineStart = true;
  /** Style of the rest of the line. */
  #codes: readonly Code[] = [];
  #before = "";
  /** The fence that opened the code block. */
  #fence: string | undefined;
  #rows: string[] = [];

  constructor(columns: () => number | undefined) {
    this.#columns = () => columns() ?? 80;
  }

  push(text: string): string {
    this.#held += text;
    let shown = "";
    for (let end = this.#held.indexOf("\n"); end !== -1; end = this.#held.indexOf("\n")) {
      const line = this.#held.slice(0, end);
      this.#held = this.#held.slice(end + 1);
      shown += this.#line(line);
    }
    return shown + this.#part();
  }

  flush(): string {
    const rest = this.#held;
    this.#held = "";
    if (this.#lineStart && rest.startsWith("|")) return this.#line(rest).replace(/\n$/, "") + this.#table();
    return this.#table() + (rest === "" ? "" : this.#rest(rest, true));
  }

  end(): string {
    const shown = this.flush();
    this.#newLine();
    this.#fence = undefined;
    return shown;
  }

  #newLine(): void {
    this.#lineStart = true;
    this.#codes = [];
    this.#before = "";
  }

  /** Renders the rest of a line, with its newline. */
  #line(line: string): string {
    if (
      this.#lineStart &&
      this.#fence === undefined &&
      line.startsWith("|") &&
      this.#rows.length < MOST_TABLE_ROWS
    ) {
      this.#rows.push(line);
      return "";
    }
    const table = this.#table();
    const shown = this.#rest(line, true);
    this.#newLine();
    return `${table}${shown}\n`;
  }

  /** Renders the certain part of an unfinished line. */
  #part(): string {
    if (this.#held === "") return "";
    const undecided =
      this.#fence === undefined
        ? UNDECIDED.test(this.#held) || FENCE.test(this.#held) || this.#held.startsWith("|")
        : /^ {0,3}(`*|~*)\s*$/.test(this.#held);
    if (this.#lineStart && undecided && this.#held.length < MOST_HELD * 4) return "";
    const rest = this.#held;
    this.#held = "";
    return this.#table() + this.#rest(rest, false);
  }

  #rest(text: string, final: boolean): string {
    if (this.#fence !== undefined) return this.#code(text, final);
    let shown = "";
    let rest = text;
    if (this.#lineStart) {
      const fence = FENCE.exec(text)?.[1];
      if (final && fence !== undefined) {
        this.#fence = fence;
        return styled(text.trim(), [DIM]);
      }
      if (final && RULE.test(text)) return styled("─".repeat(Math.min(40, this.#columns() - 1)), [DIM]);
      ({ shown, rest } = this.#mark(text));
    }
    if (rest !== "" || shown !== "") this.#lineStart = false;
    const part = inlinePart(rest, this.#codes, { final, before: this.#before });
    this.#held = part.rest + this.#held;
    this.#before = rest.slice(0, rest.length - part.rest.length).at(-1) ?? this.#before;
    return shown + part.shown;
  }

  /** The rendered block mark of a line, and the rest of it. */
  #mark(text: string): { shown: string; rest: string } {
    const quote = QUOTE.exec(text)?.[0] ?? "";
    const after = text.slice(quote.length);
    const bar = quote === "" ? "" : styled("│ ", [DIM]);
    const heading = HEADING.exec(after);
    if (heading) {
      this.#codes = heading[1] === "#" ? [BOLD, UNDERLINE] : [BOLD];
      return { shown: bar, rest: after.slice(heading[0].length) };
    }
    const item = ITEM.exec(after);
    if (!item) return { shown: bar, rest: after };
    const [whole, indent = "", sign = ""] = item;
    const point = /\d/.test(sign) ? sign : "•";
    return { shown: `${bar}${indent}${styled(point, [CYAN])} `, rest: after.slice(whole.length) };
  }

  #code(text: string, final: boolean): string {
    const fence = this.#fence ?? "";
    const closes = new RegExp(`^ {0,3}${fence.charAt(0)}{${fence.length},}\\s*$`);
    if (this.#lineStart && final && closes.test(text)) {
      this.#fence = undefined;
      return styled(text.trim(), [DIM]);
    }
    this.#lineStart = false;
    return styled(text, [CYAN]);
  }

  /** Renders the buffered table rows in columns; raw where they do not fit. */
  #table(): string {
    const rows = this.#rows;
    this.#rows = [];
    if (rows.length === 0) return "";
    const plain = rows.map((row) => `${inline(row, [])}\n`).join("");
    if (!rows.slice(1, 2).some((row) => DELIMITER.test(row))) return plain;
    const cells = rows
      .filter((_row, index) => index !== 1)
      .map((row, index) => cellsOf(row).map((cell) => inline(cell, index === 0 ? [BOLD] : [])));
    const width = (cell: string): number => textWidth(stripVTControlCharacters(cell));
    const count = Math.max(...cells.map((row) => row.length));
    const widths = Array.from({ length: count }, (_, column) =>
      Math.max(...cells.map((row) => width(row[column] ?? ""))),
    );
    if (widths.reduce((sum, each) => sum + each + 3, 0) > this.#columns()) return plain;
    const bar = styled(" │ ", [DIM]);
    const lines = cells.map((row) =>
      widths
        .map((each, column) => (row[column] ?? "") + " ".repeat(each - width(row[column] ?? "")))
        .join(bar),
    );
    lines.splice(1, 0, styled(widths.map((each) => "─".repeat(each)).join("─┼─"), [DIM]));
    return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
  }
}

/** The cells of `| a | b |`. */
function cellsOf(row: string): string[] {
  const inner = row.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
