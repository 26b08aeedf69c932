/**
 * Matches shell commands against permission rules. An allow rule matches the exact text. A deny rule is compared word by word
 * with each command of a line, without prefixes (paths, `sudo`, assignments). It is a guard rail against mistakes, not a wall:
 * a script, a variable or another program can do the same undetected.
 */

import { isRiskyGit } from "./shell-pattern.ts";

/** Characters that make a line more than one simple command; quoted ones count too, to be safe. */
const COMPOUND = /[;&|<>`(){}\n\r]|\$\(/;
/** Prefixes of a command that are not the command, with or without their own options. */
const BEFORE = new Set(
  "! then do else elif if while until time exec command builtin nohup sudo doas env nice ionice setsid stdbuf timeout xargs".split(
    " ",
  ),
);
/** Programs that run a text as a command line. */
const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "busybox", "eval"]);
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
/** Maximum depth of nested lines. */
const MOST_DEPTH = 4;
/** Maximum number of substitutions per line. */
const MOST_INNER = 50;

/** Work limits of one deny check, in characters read: per character, extra, and in total. */
const WORK_PER_CHARACTER = 60;
const WORK_BESIDES = 400_000;
const MOST_WORK = 20_000_000;
/** Minimum work of a line or a word. */
const WORK_EACH = 20;

/** Remaining work. A line that needs more is denied: each further word of nested lines may double the work. */
interface Work {
  left: number;
}

function workFor(line: string): Work {
  return { left: Math.min(WORK_PER_CHARACTER * line.length + WORK_BESIDES, MOST_WORK) };
}

/** Splits a line into commands and words, with quotes and escapes resolved. An unterminated one ends with the line. */
function commandsOf(line: string): string[][] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  let quote = "";
  let redirected = false;
  const endWord = (): void => {
    if (word !== undefined && !redirected) commands.at(-1)?.push(word);
    if (word !== undefined) redirected = false;
    word = undefined;
  };
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote !== "" && char === quote) quote = "";
    else if (char === "\\" && quote !== "'") {
      // An escaped line break joins two lines.
      if (next !== "\n") word = (word ?? "") + next;
      at += 1;
    } else if (quote !== "") word = (word ?? "") + char;
    else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "$" && (next === "'" || next === '"')) word ??= "";
    else if (char === "#" && word === undefined) at = nextLine(line, at) - 1;
    else if (/[;&|`(){}\n\r]/.test(char)) {
      endWord();
      redirected = false;
      commands.push([]);
    } else if (char === "<" || char === ">") {
      // The preceding number belongs to it, and the next word is a file.
      if (word !== undefined && /^\d+$/.test(word)) word = undefined;
      endWord();
      redirected = true;
    } else if (/\s/.test(char)) endWord();
    else word = (word ?? "") + char;
  }
  endWord();
  return commands.filter((words) => words.length > 0);
}

function nextLine(line: string, from: number): number {
  const end = line.indexOf("\n", from);
  return end === -1 ? line.length : end;
}

function nameOf(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}

function beginsWith(words: readonly string[], from: number, prefix: readonly string[]): boolean {
  return prefix.every((wanted, index) => {
    const word = words[from + index];
    return word === wanted || (index === 0 && word !== undefined && nameOf(word) === nameOf(wanted));
  });
}

/** Possible starts of the command itself: after prefixes, and each word among options of those. */
function starts(words: readonly string[]): number[] {
  let first = 0;
  let wrapped = false;
  for (; first < words.length; first += 1) {
    const word = words[first] ?? "";
    if (BEFORE.has(nameOf(word))) wrapped = true;
    else if (!ASSIGNMENT.test(word) && word !== "$") break;
  }
  if (!wrapped) return [first];
  return words.map((_word, index) => index).filter((index) => index >= first);
}

interface WordRule {
  words: readonly string[];
  open: boolean;
}

function denies(rule: WordRule, line: string, depth: number, work: Work): boolean {
  work.left -= line.length + WORK_EACH;
  if (work.left < 0) return true;
  for (const words of commandsOf(line)) {
    for (const from of starts(words)) {
      const fits = beginsWith(words, from, rule.words);
      if (fits && (rule.open || words.length - from === rule.words.length)) return true;
      const texts = SHELLS.has(nameOf(words[from] ?? "")) && depth > 0 ? words.slice(from + 1) : [];
      work.left -= WORK_EACH * texts.length;
      if (work.left < 0) return true;
      if (texts.some((text) => denies(rule, text, depth - 1, work))) return true;
      if (words[from] === "eval" && depth > 0 && denies(rule, texts.join(" "), depth - 1, work)) return true;
    }
  }
  if (depth === 0) return false;
  // Also within double quotes, where substitutions run as well.
  const inner = [...line.matchAll(/\$\(|`|[<>]\(/g)].slice(0, MOST_INNER);
  return inner.some(({ index, 0: sign }) => denies(rule, line.slice(index + sign.length), 0, work));
}

/** Whether `match` of a rule is a prefix, so that any further words match. */
export function isOpen(match: string): boolean {
  return match.endsWith(" *");
}

/** `match` of a rule: a command, or a prefix followed by ` *`. */
export function shellMatches(match: string, command: string, effect: "allow" | "deny"): boolean {
  const line = command.trim();
  const whole = match.trim();
  const open = isOpen(match);
  // An open allow rule must match the command's own words too: a star may be the name of any file.
  if (line === whole && (effect === "deny" || !open)) return true;
  const prefix = open ? match.slice(0, -2).trim() : whole;
  if (effect === "allow") {
    if (!open || COMPOUND.test(line) || !(line === prefix || line.startsWith(`${prefix} `))) return false;
    return !/^git\s/.test(line) || !isRiskyGit(line.slice(prefix.length));
  }
  const words = commandsOf(prefix);
  const [only = []] = words;
  return words.length === 1
    ? denies({ words: only, open }, line, MOST_DEPTH, workFor(line))
    : line.replaceAll(/\s+/g, " ").includes(prefix.replaceAll(/\s+/g, " "));
}
