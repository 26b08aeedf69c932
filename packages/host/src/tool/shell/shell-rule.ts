/**
 * Matches shell commands against permission rules. An allow rule matches the exact text. A deny rule is compared word by word
 * with each command of a line, without prefixes (paths, `sudo`, assignments). It is a guard rail against mistakes, not a wall:
 * a script, a variable or another program can do the same undetected.
 */

import { isRiskyGit } from "./git-words.ts";
import {
  commandsOf,
  isUnknownProgram,
  nameOf,
  COMMAND_PREFIXES,
  UNKNOWN,
  withoutHereDocuments,
} from "./shell-words.ts";

/** Characters that make a line more than one simple command; quoted ones count too, to be safe. */
const COMPOUND = /[;&|<>`(){}\n\r]|\$\(/;
/** Programs that run a text as a command line. */
const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "busybox", "eval"]);
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
/** Maximum depth of nested lines. */
const MOST_NESTED_LINES = 4;
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

/** A word at the place of a rule's word; one that only the shell knows may be it. */
function fits(word: string | undefined, wanted: string, isProgram: boolean): boolean {
  if (word === undefined) return false;
  if (isProgram) return word === wanted || nameOf(word) === nameOf(wanted);
  return word === wanted || word.includes(UNKNOWN);
}

/**
 * Place after the rule's words, or undefined if they are not there. Options may come between them, each with one value:
 * `git -C . push` is `git push`.
 */
function afterRule(words: readonly string[], from: number, wanted: readonly string[]): number | undefined {
  let found = 0;
  let at = from;
  let mayBeValue = false;
  for (; found < wanted.length; at += 1) {
    const word = words[at];
    if (word === undefined) return undefined;
    if (fits(word, wanted[found] ?? "", found === 0)) {
      found += 1;
      mayBeValue = false;
    } else if (found > 0 && word.startsWith("-")) mayBeValue = true;
    else if (mayBeValue) mayBeValue = false;
    else return undefined;
  }
  return at;
}

/** `git -c alias.x=push x` can be any subcommand. */
function mayBeAlias(words: readonly string[], from: number, wanted: readonly string[]): boolean {
  if (nameOf(wanted[0] ?? "") !== "git" || nameOf(words[from] ?? "") !== "git") return false;
  return words.some((word) => /(?:^|[=c])(?:alias\.|include\.path|includeif\.)/i.test(word));
}

/** Possible starts of the command itself: after prefixes, and each word among options of those. */
function starts(words: readonly string[]): number[] {
  let first = 0;
  let wrapped = false;
  for (; first < words.length; first += 1) {
    const word = words[first] ?? "";
    if (COMMAND_PREFIXES.has(nameOf(word))) wrapped = true;
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
      const end = isUnknownProgram(words[from] ?? "", true) ? undefined : afterRule(words, from, rule.words);
      if (end !== undefined && (rule.open || end === words.length)) return true;
      if (mayBeAlias(words, from, rule.words)) return true;
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

/** Options and values before the program of `sudo`, `timeout` and the like. */
const BEFORE_PROGRAM = /^(?:-|\d|[A-Za-z_]\w*\+?=)/;

/**
 * Whether a program of the line is known only when it runs: `$X -rf /`, `$(echo rm) x`, `/bin/r? x`. Under a deny rule such a line is
 * denied, since it may be what the rule forbids.
 */
function hidesProgram(line: string, depth = MOST_NESTED_LINES): boolean {
  return commandsOf(withoutHereDocuments(line)).some((words) => {
    const [first = 0] = starts(words);
    const from = first + words.slice(first).findIndex((word) => first === 0 || !BEFORE_PROGRAM.test(word));
    const word = words[from] ?? "";
    if (isUnknownProgram(word, words.length - from === 1)) return true;
    if (depth === 0 || !SHELLS.has(nameOf(word))) return false;
    const rest = words.slice(from + 1);
    const texts =
      nameOf(word) === "eval"
        ? [rest.join(" ")]
        : rest.filter((_text, at) => rest[at - 1]?.startsWith("-") === true);
    return texts.some((text) => hidesProgram(text.replaceAll(UNKNOWN, "$unknown"), depth - 1));
  });
}

/** Whether `match` of a rule is a prefix, so that any further words match. */
export function isOpen(match: string): boolean {
  return match.endsWith(" *");
}

/** Parts of an option's name that say that its value is run: `--exec`, `--pager`, `--use-compress-program`, `-execdir`. */
const RUNS =
  /^-{1,2}(?:[a-z]+-)*(?:exec|execdir|ok|okdir|command|cmd|pager|editor|shell|program|rsh|pre|wrapper|browser|askpass|proxycommand|checkpoint-action|to-command)(?:-[a-z]+)*(?:=|$)/i;

/** Whether further words of a prefix rule make the program run another one, by the name of an option, or hide an option. */
function runsAnother(further: string): boolean {
  return further.split(/\s+/).some((word) => {
    const plain = word.replaceAll(/["']/g, "");
    return plain.startsWith("-") && (/[$\\]/.test(plain) || RUNS.test(plain));
  });
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
    const further = line.slice(prefix.length);
    const own = prefix.split(/\s+/);
    const git = own.findIndex((word) => nameOf(word) === "git");
    if (git >= 0) return !isRiskyGit(own.slice(git), further);
    return !runsAnother(further);
  }
  const words = commandsOf(prefix);
  const [only = []] = words;
  return words.length === 1
    ? hidesProgram(line) || denies({ words: only, open }, line, MOST_NESTED_LINES, workFor(line))
    : line.replaceAll(/\s+/g, " ").includes(prefix.replaceAll(/\s+/g, " "));
}

/** End of the refusal of a call that a deny rule covers; `command`: of a shell call. */
export function denialReason(command: string | undefined): string {
  return command !== undefined && hidesProgram(command)
    ? "the configuration forbids some commands, and the program of this one is known only when it runs; write its name instead of a variable, pattern or substitution."
    : "a deny rule of the configuration forbids it. Do not try another way.";
}
