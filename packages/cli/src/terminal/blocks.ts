/** The blocks of a conversation on the terminal. Texts of models and tools come through `terminalSafe`: they cannot move the cursor. */
import { Markdown, truncateToWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { diffText, digitsOf, type DiffLine } from "@pagurus/host/command/file-changes";
import { terminalSafe } from "@pagurus/host/command/layout";
import { plural } from "@pagurus/core/data/plain-numbers";
import { NO_LINE, type Theme } from "./theme.ts";
import type { Block } from "./transcript.ts";

/** Lines that are computed once for each width. */
abstract class LinesBlock implements Block {
  #width = 0;
  #lines: readonly string[] | undefined;

  abstract get isDone(): boolean;
  protected abstract lines(width: number): readonly string[];

  protected changed(): void {
    this.#lines = undefined;
  }

  render(width: number): readonly string[] {
    if (this.#lines === undefined || this.#width !== width)
      // The library ends the program at a line that is wider than the terminal.
      this.#lines = this.lines(width).map((line) => truncateToWidth(line, width, "…"));
    this.#width = width;
    return this.#lines;
  }

  invalidate(): void {
    this.changed();
  }
}

/** Words beside the conversation: a notice, the result of a command. */
export class NoteBlock extends LinesBlock {
  readonly isDone = true;
  readonly #text: string;
  readonly #space: boolean;

  /** `text` may have colours. `space`: an empty line above. */
  constructor(text: string, space = false) {
    super();
    this.#text = text.replace(/\n+$/, "");
    this.#space = space;
  }

  protected lines(width: number): readonly string[] {
    const lines = this.#text.split("\n").flatMap((line) => wrapTextWithAnsi(line, width));
    return this.#space ? ["", ...lines] : lines;
  }
}

/** Lines of a message of the user that are shown; the transcript view has all. */
const USER_LINES = 30;

export class UserBlock extends LinesBlock {
  readonly isDone = true;
  readonly #text: string;
  readonly #theme: Theme;

  constructor(text: string, theme: Theme) {
    super();
    this.#text = terminalSafe(text);
    this.#theme = theme;
  }

  protected lines(width: number): readonly string[] {
    const all = this.whole(width);
    if (all.length <= USER_LINES + 1) return all;
    const more = `  … ${plural(all.length - USER_LINES, "more line")}`;
    return [...all.slice(0, USER_LINES), this.#theme.dim(more)];
  }

  whole(width: number): readonly string[] {
    const { bold } = this.#theme;
    const lines = this.#text.split("\n").flatMap((line) => wrapTextWithAnsi(line, Math.max(1, width - 2)));
    return ["", ...lines.map((line, index) => `${bold(index === 0 ? "›" : " ")} ${bold(line)}`)];
  }
}

/** Characters after which the text so far becomes a block of its own, at the next empty line, and at the latest. */
const CHUNK = 1_500;
const MOST_CHUNK = 12_000;

/** The library fills lines with spaces, which a copy from the terminal would have. */
function withoutPadding(line: string): string {
  // eslint-disable-next-line no-control-regex
  return line.replace(/ +((?:\u001b\[[\d;]*m)*)$/, "$1");
}

function shownLines(lines: readonly string[]): string[] {
  const shown = lines.filter((line) => !line.includes(NO_LINE)).map(withoutPadding);
  return shown.length === 0 ? [] : ["", ...shown];
}

/** One piece of an answer as Markdown; a long answer is several, so that each event formats a short text. */
class AnswerPiece implements Block {
  isDone = false;
  readonly #markdown: Markdown;
  #from: readonly string[] = [];
  #lines: readonly string[] = [];

  constructor(theme: Theme) {
    this.#markdown = new Markdown("", 0, 0, theme.markdown);
  }

  set text(text: string) {
    this.#markdown.setText(text);
  }

  render(width: number): readonly string[] {
    const from = this.#markdown.render(width);
    if (from !== this.#from) this.#lines = shownLines(from);
    this.#from = from;
    return this.#lines;
  }

  invalidate(): void {
    this.#markdown.invalidate();
    this.#from = [];
    this.#lines = [];
  }
}

/** The answer of one message while it streams. `add` puts a block at the end of the transcript. */
export class Answer {
  readonly #add: (block: Block) => void;
  readonly #theme: Theme;
  #piece: AnswerPiece | undefined;
  #text = "";

  constructor(add: (block: Block) => void, theme: Theme) {
    this.#add = add;
    this.#theme = theme;
  }

  push(delta: string): void {
    this.#text += delta;
    for (let cut = cutOf(this.#text); cut; cut = cutOf(this.#text)) {
      this.#show(this.#text.slice(0, cut.at));
      this.#finish();
      this.#text = cut.opening + this.#text.slice(cut.at).replace(/^\n+/, "");
    }
    if (this.#text.trim() !== "") this.#show(this.#text);
  }

  end(): void {
    this.#finish();
    this.#text = "";
  }

  #show(text: string): void {
    if (!this.#piece) {
      this.#piece = new AnswerPiece(this.#theme);
      this.#add(this.#piece);
    }
    this.#piece.text = text;
  }

  #finish(): void {
    if (this.#piece) this.#piece.isDone = true;
    this.#piece = undefined;
  }
}

/**
 * Place where a text is cut into two blocks: an empty line outside of code, or any line once it is too long. `opening`: the line that
 * opens the code block again, for example "```ts\n".
 */
function cutOf(text: string): { at: number; opening: string } | undefined {
  if (text.length < CHUNK) return undefined;
  let fence = "";
  let last: { at: number; opening: string } | undefined;
  let from = 0;
  while (from < text.length) {
    const end = text.indexOf("\n", from);
    if (end === -1) break;
    const line = text.slice(from, end);
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark !== undefined) fence = fence === "" ? line : "";
    const isEmpty = line.trim() === "";
    // A list or a table continues after an empty line with an indented line.
    const continues = /^(?: {2,}|\t)\S/.test(text.slice(end + 1, end + 8));
    if (fence === "" && isEmpty && !continues) last = { at: end + 1, opening: "" };
    from = end + 1;
    if (last && from > CHUNK) return last;
    if (from > MOST_CHUNK) return { at: from, opening: fence === "" ? "" : `${fence}\n` };
  }
  if (text.length <= MOST_CHUNK) return undefined;
  // One line without an end.
  const at = text.lastIndexOf(" ", MOST_CHUNK);
  return { at: at > 0 ? at : MOST_CHUNK, opening: fence === "" ? "" : `${fence}\n` };
}

/** Reasoning of the model: one line on the screen, all of it in the transcript view. */
export class ThinkingBlock extends LinesBlock {
  isDone = false;
  #text = "";
  readonly #theme: Theme;

  constructor(theme: Theme) {
    super();
    this.#theme = theme;
  }

  push(delta: string): void {
    this.#text += delta;
    this.changed();
  }

  end(): void {
    this.isDone = true;
    this.changed();
  }

  protected lines(width: number): readonly string[] {
    const text = terminalSafe(this.#text).trim();
    if (text === "") return [];
    const newest = text.slice(text.lastIndexOf("\n") + 1).replaceAll(/[*_#`]/g, "");
    const first = text.split("\n", 1)[0]?.replaceAll(/[*_#`]/g, "") ?? "";
    const line = `∴ ${this.isDone ? first : newest}`;
    return ["", this.#theme.dim(truncateToWidth(line, width, "…"))];
  }

  whole(width: number): readonly string[] {
    const lines = terminalSafe(this.#text).trim().split("\n");
    return ["", ...lines.flatMap((line) => wrapTextWithAnsi(this.#theme.dim(line), width))];
  }
}

/** Lines of a tool's output on the screen: the newest while it runs, the first ones of the result afterwards. */
const OUTPUT_LINES = 8;
const RESULT_LINES = 5;
/** Characters of output that are kept while a tool runs; its result is whole. */
const MOST_OUTPUT = 64_000;

export interface ToolResult {
  /** One line, for example `exit 1, 12 lines, 340 bytes`. */
  summary: string;
  isError: boolean;
  text: string;
  /** Lines of a diff with their numbers, in place of the text. */
  diff?: readonly DiffLine[];
}

export class ToolBlock extends LinesBlock {
  readonly #theme: Theme;
  readonly #name: string;
  readonly #about: string;
  #output = "";
  #result: ToolResult | undefined;

  /** `about`: its main arguments, for example the command. */
  constructor(name: string, about: string, theme: Theme) {
    super();
    this.#name = name;
    this.#about = terminalSafe(about);
    this.#theme = theme;
  }

  get isDone(): boolean {
    return this.#result !== undefined;
  }

  push(chunk: string): void {
    this.#output = (this.#output + terminalSafe(chunk)).slice(-MOST_OUTPUT);
    this.changed();
  }

  end(result: ToolResult): void {
    this.#result = { ...result, text: terminalSafe(result.text) };
    this.changed();
  }

  #title(width: number, most: number): string[] {
    const { accent, bold, good, bad, dim } = this.#theme;
    const mark = this.#result ? (this.#result.isError ? bad("✗") : good("✓")) : accent("•");
    const lines = wrapTextWithAnsi(`${bold(this.#name)} ${this.#about}`.trimEnd(), Math.max(1, width - 2));
    const shown = lines.slice(0, most).map((line, index) => `${index === 0 ? mark : " "} ${line}`);
    return lines.length > most ? [...shown, dim(`  … ${plural(lines.length - most, "more line")}`)] : shown;
  }

  protected lines(width: number): readonly string[] {
    const { dim, bad } = this.#theme;
    const inner = Math.max(1, width - 4);
    const title = ["", ...this.#title(width, 3)];
    const result = this.#result;
    if (!result) {
      const rows = this.#output.replace(/\n$/, "").split("\n");
      const shown = rows.slice(-OUTPUT_LINES).map((row) => truncateToWidth(row, inner, "…"));
      const before = rows.length - shown.length;
      const hint = before > 0 ? [dim(`  │ … ${plural(before, "line")} above`)] : [];
      return this.#output === "" ? title : [...title, ...hint, ...shown.map((row) => dim(`  │ ${row}`))];
    }
    if (result.diff)
      return [...title, ...this.#diff(result.diff, width, 40), ...this.#summary(result, width)];
    const rows = result.text.replace(/\n$/, "").split("\n");
    const isShort = rows.length <= RESULT_LINES + 1;
    const most = result.isError && !isShort ? 20 : RESULT_LINES;
    const kept = isShort ? rows : result.isError ? rows.slice(-most) : rows.slice(0, most);
    const paint = result.isError ? bad : dim;
    const shown = kept.map((row) => paint(`  │ ${truncateToWidth(row, inner, "…")}`));
    const left = rows.length - kept.length;
    const hint = left > 0 ? [dim(`  │ … ${plural(left, "more line")} (Ctrl-O)`)] : [];
    // The summary of a failure has all of a short text.
    const isRepeated = result.isError && rows.length === 1 && result.summary.includes(result.text.trim());
    if (result.text.trim() === "" || isRepeated) return [...title, ...this.#summary(result, width)];
    return result.isError
      ? [...title, ...hint, ...shown, ...this.#summary(result, width)]
      : [...title, ...shown, ...hint];
  }

  #summary({ summary, isError }: ToolResult, width: number): string[] {
    const paint = isError ? this.#theme.bad : this.#theme.dim;
    return wrapTextWithAnsi(summary, Math.max(1, width - 4)).map((line, index) =>
      paint(`  ${index === 0 ? "└" : " "} ${line}`),
    );
  }

  #diff(lines: readonly DiffLine[], width: number, most: number): string[] {
    const { dim, added, removed } = this.#theme;
    const digits = digitsOf(lines);
    const rows = lines.slice(0, most).map((line) => {
      const row = truncateToWidth(terminalSafe(diffText(line, digits)), width, "…");
      return line.kind === "added" ? added(row) : line.kind === "removed" ? removed(row) : dim(row);
    });
    return lines.length > most ? [...rows, dim(`  … ${plural(lines.length - most, "more line")}`)] : rows;
  }

  whole(width: number): readonly string[] {
    const result = this.#result;
    const text = result?.text ?? this.#output;
    const rows = text
      .replace(/\n$/, "")
      .split("\n")
      .flatMap((row) => wrapTextWithAnsi(row, Math.max(1, width - 4)));
    const diff = result?.diff ? this.#diff(result.diff, width, Infinity) : [];
    const shown = text === "" ? [] : rows.map((row) => this.#theme.dim(`  │ ${row}`));
    return [
      "",
      ...this.#title(width, Infinity),
      ...diff,
      ...shown,
      ...(result ? this.#summary(result, width) : []),
    ];
  }
}
