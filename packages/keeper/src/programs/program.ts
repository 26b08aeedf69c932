/** Description of another program's home: which of its files have words of conversations, and why the others are not kept. */
import { homedir } from "node:os";
import { join } from "node:path";

export type Env = Readonly<Record<string, string | undefined>>;

/** How the words of a file are read. */
export type FormatId =
  | "claude-code"
  | "codex"
  | "prompts"
  | "opencode"
  | "pi"
  | "gemini"
  | "cline"
  | "copilot"
  | "goose"
  | "droid"
  | "aider"
  | "json"
  | "text"
  | "database";

export interface Rule {
  /** Matches the file's path in the home, with `/` between folders. */
  files: RegExp;
  /** `words`: kept and searched. `raw`: kept byte for byte. `no`: not kept. */
  take: "words" | "raw" | "no";
  /** What the file is, or why it is not kept: the end of a sentence. */
  what: string;
  /** For `words`. */
  format?: FormatId;
  /** It is rewritten by design: an index, or a list of what is to be done. */
  isState?: boolean;
  /** The conversation that the path names: id, and that of its parent. */
  conversation?: (match: RegExpExecArray) => { id: string; parent?: string };
}

export interface Program {
  id: string;
  label: string;
  /** Folders where it may have its home, existing or not. */
  homes(env: Env): string[];
  /** The first one that matches counts. A file that none matches is kept byte for byte in a folder of `known`, and not kept elsewhere. */
  rules: readonly Rule[];
  /** Folders of conversations: whatever is in them is kept. */
  known: RegExp;
  /** Folders below the home that are looked into. Default: all levels. */
  depth?: number;
}

export interface Taken {
  take: Rule["take"] | "unknown";
  what: string;
  format?: FormatId;
  isState?: boolean;
  conversation?: { id: string; parent?: string };
  /** No rule names it. */
  isUnnamed?: boolean;
}

const NOT_KNOWN = "no file of conversations that is known";
const UNKNOWN = "a file that this version does not know, kept as it is and read when it becomes known";

/** What is done with a file, by its path in the home of a program. */
export function takenOf(program: Program, path: string): Taken {
  for (const { files, take, what, format, isState, conversation } of program.rules) {
    const match = files.exec(path);
    if (!match) continue;
    return {
      take,
      what,
      ...(format && { format }),
      ...(isState === true && { isState }),
      ...(conversation && { conversation: conversation(match) }),
    };
  }
  return program.known.test(path)
    ? { take: "unknown", what: UNKNOWN, isUnnamed: true }
    : { take: "no", what: NOT_KNOWN, isUnnamed: true };
}

/** A folder in the user's home. */
export function inHome(env: Env, ...path: string[]): string {
  return join(env["HOME"] || homedir(), ...path);
}

/** The id that the path names in its first group. */
export function named(match: RegExpExecArray): { id: string } {
  return { id: match[1] ?? "" };
}

/** The id in the second group, below the conversation in the first one. */
export function childOf(match: RegExpExecArray): { id: string; parent: string } {
  const [, parent = "", id = ""] = match;
  return { id: `${parent}/${id}`, parent };
}
