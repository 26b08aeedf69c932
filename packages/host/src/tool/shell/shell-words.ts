/**
 * Splits a line of the shell into commands and words as far as its text says: quotes, escapes, `$'…'`, `${IFS}` and braces are
 * resolved. What only the shell can know (a variable, the output of a command) becomes `UNKNOWN`.
 */

/** In place of text that is known only when the line runs. A private character, which no command contains. */
export const UNKNOWN = "\uF8FF";
/** Prefixes of a command that are not the command, with or without their own options: `time curl …`, `env A=b npm ci`. */
export const COMMAND_PREFIXES: ReadonlySet<string> = new Set(
  "! then do else elif if while until time exec command builtin nohup sudo doas env nice ionice setsid stdbuf timeout xargs".split(
    " ",
  ),
);

const BLANK_VARIABLE = /^\$(?:IFS\b|\{IFS[^}]*\})/;
const VARIABLE = /^\$(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{[^}]*\})/;
/** `{a,b}` without blanks. A sequence (`{a..z}`) or a nested brace is not expanded. */
const BRACES = /^\{([^\s{};&|<>()`]*(?:,|\.\.)[^\s{};&|<>()`]*)\}([^\s;&|<>()`{}]*)/;
const SHELL_ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  f: "\f",
  v: "\v",
};

/** The text of `$'…'`, and the place after it; the whole rest for one that does not end. */
function ansiText(line: string, from: number): { text: string; end: number } {
  let text = "";
  for (let at = from; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (char === "'") return { text, end: at };
    if (char !== "\\") {
      text += char;
      continue;
    }
    const code = /^(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3}))/.exec(
      line.slice(at + 1, at + 10),
    );
    const [all = ""] = code ?? [];
    const hex = code?.[1] ?? code?.[2] ?? code?.[3];
    const point = hex === undefined ? Number.parseInt(code?.[4] ?? "", 8) : Number.parseInt(hex, 16);
    if (code && point <= 0x10ffff) text += String.fromCodePoint(point);
    else text += SHELL_ESCAPES[line.charAt(at + 1)] ?? line.charAt(at + 1);
    at += Math.max(1, all.length);
  }
  return { text, end: line.length };
}

function nextLine(line: string, from: number): number {
  const end = line.indexOf("\n", from);
  return end === -1 ? line.length : end;
}

class Splitter {
  readonly commands: string[][] = [[]];
  readonly #line: string;
  #command: string[] = this.commands[0] ?? [];
  /** Commands that wait for the end of a substitution, or undefined for a group in parentheses. */
  readonly #outer: ({ command: string[]; word: string | undefined; redirected: boolean } | undefined)[] = [];
  #word: string | undefined;
  #redirected = false;

  constructor(line: string) {
    this.#line = line;
  }

  #add(text: string): void {
    this.#word = (this.#word ?? "") + text;
  }

  #endWord(): void {
    if (this.#word !== undefined && !this.#redirected) this.#command.push(this.#word);
    if (this.#word !== undefined) this.#redirected = false;
    this.#word = undefined;
  }

  /** Reads one expansion or quote of `$…`; the last place that belongs to it, or undefined if it is a plain character. */
  #dollar(at: number, isQuoted: boolean): number | undefined {
    const rest = this.#line.slice(at, at + 200);
    const blank = BLANK_VARIABLE.exec(rest)?.[0];
    if (blank !== undefined && !isQuoted) {
      this.#endWord();
      return at + blank.length - 1;
    }
    if (rest.startsWith("$(")) {
      this.#add(UNKNOWN);
      if (isQuoted) return at;
      this.#substitute();
      return at + 1;
    }
    const variable = VARIABLE.exec(rest)?.[0];
    if (variable === undefined) return undefined;
    this.#add(UNKNOWN);
    return at + variable.length - 1;
  }

  /** Adds the words of `{a,b}`; the last place that belongs to it. */
  #braces(at: number): number | undefined {
    const found = BRACES.exec(this.#line.slice(at, at + 2_000));
    if (!found) return undefined;
    const [all, inner = "", suffix = ""] = found;
    const prefix = this.#word ?? "";
    if (inner.includes("..") || /["'\\$]/.test(inner + suffix)) this.#add(UNKNOWN);
    else {
      for (const item of inner.split(",")) {
        this.#word = prefix + item + suffix;
        if (this.#word === "") this.#word = undefined;
        this.#endWord();
      }
    }
    return at + all.length - 1;
  }

  split(): string[][] {
    const line = this.#line;
    let quote = "";
    let inBackticks = false;
    for (let at = 0; at < line.length; at += 1) {
      const char = line.charAt(at);
      const next = line.charAt(at + 1);
      if (quote !== "" && char === quote) quote = "";
      else if (char === "\\" && quote === '"' && !/["\\$`\n]/.test(next)) this.#add(char);
      else if (char === "\\" && quote !== "'") {
        // An escaped line break joins two lines.
        if (next !== "\n") this.#add(next);
        at += 1;
      } else if (char === "$" && quote === "" && next === "'") {
        const { text, end } = ansiText(line, at + 2);
        this.#add(text);
        at = end;
      } else if (char === "$" && quote === "" && next === '"') this.#add("");
      else if (char === "$" && quote !== "'") {
        const end = this.#dollar(at, quote !== "");
        if (end === undefined) this.#add(char);
        else at = end;
      } else if (char === "`" && quote !== "'") {
        if (!inBackticks) this.#add(UNKNOWN);
        if (quote === "" && inBackticks) this.#endGroup();
        else if (quote === "") this.#substitute();
        inBackticks = !inBackticks;
      } else if (quote !== "") this.#add(char);
      else if (char === "'" || char === '"') {
        quote = char;
        this.#add("");
      } else at = this.#plain(at, char);
    }
    this.#endWord();
    return this.commands.filter((words) => words.length > 0);
  }

  #nextCommand(): void {
    this.#endWord();
    this.#redirected = false;
    this.#command = [];
    this.commands.push(this.#command);
  }

  /** Begins a command whose output is part of the word before it. */
  #substitute(): void {
    this.#outer.push({ command: this.#command, word: this.#word, redirected: this.#redirected });
    this.#word = undefined;
    this.#nextCommand();
  }

  /** Continues the command outside of a substitution; another command follows a group. */
  #endGroup(): void {
    this.#nextCommand();
    const outer = this.#outer.pop();
    if (!outer) return;
    this.#command = outer.command;
    this.#word = outer.word;
    this.#redirected = outer.redirected;
  }

  /** A character outside of quotes; returns the last place that belongs to it. */
  #plain(at: number, char: string): number {
    const line = this.#line;
    if (char === "#" && this.#word === undefined) return nextLine(line, at) - 1;
    if (char === "{") {
      const end = this.#braces(at);
      if (end !== undefined) return end;
    }
    if (char === "(") this.#outer.push(undefined);
    if (char === ")") this.#endGroup();
    else if (/[;&|({}\n\r]/.test(char)) this.#nextCommand();
    else if (char === "<" || char === ">") {
      // The preceding number belongs to it, and the next word is a file.
      if (this.#word !== undefined && /^\d+$/.test(this.#word)) this.#word = undefined;
      this.#endWord();
      this.#redirected = true;
    } else if (/\s/.test(char)) this.#endWord();
    else this.#add(char);
    return at;
  }
}

/** The commands of a line with their words. An unterminated quote ends with the line. */
export function commandsOf(line: string): string[][] {
  return new Splitter(line).split();
}

/** The last part of a program's path. */
export function nameOf(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}

/**
 * Whether only the shell knows which program a command names: an expansion or a file pattern in the last part of the word. A pattern
 * alone is one of `case`.
 */
export function isUnknownProgram(word: string, isAlone: boolean): boolean {
  const name = nameOf(word);
  return name.includes(UNKNOWN) || (!isAlone && /[*?]|\[[^\]]+\]/.test(name));
}

/** The line without the text of its here-documents, which is input and no command. */
export function withoutHereDocuments(line: string): string {
  const kept: string[] = [];
  const ends: string[] = [];
  for (const each of line.split("\n")) {
    const [end] = ends;
    if (end !== undefined) {
      if (each.trim() === end) ends.shift();
      continue;
    }
    kept.push(each);
    for (const [, , word = ""] of each.matchAll(/<<-?\s*(["']?)(\w+)\1/g)) ends.push(word);
  }
  return kept.join("\n");
}
