import type { Command } from "commander";

/** Kind of value after an option or as an argument. */
export type Takes = "nothing" | "text" | "file" | "folder";

export interface CompletionOption {
  long: string;
  short: string | undefined;
  description: string;
  takes: Takes;
  choices: readonly string[];
}

/** One command of the tree, as the three scripts need it. */
export interface CompletionNode {
  /** Names from the root, joined by spaces; empty for the root. */
  path: string;
  subcommands: { name: string; description: string }[];
  options: CompletionOption[];
  /** Fixed words that are valid as the argument. */
  words: readonly string[];
  files: boolean;
}

/** Arguments that are files; `what` is a package's name, a file or a folder. */
const FILE_ARGUMENTS = new Set(["file", "dir", "what"]);

function takes(flags: string): Takes {
  if (!/[<[]/.test(flags)) return "nothing";
  if (flags.includes("<dir>")) return "folder";
  return flags.includes("<file>") ? "file" : "text";
}

/** The tree of commands, root first, in declaration order. */
export function completionTree(command: Command, path = ""): CompletionNode[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => child.name() !== "help");
  const node: CompletionNode = {
    path,
    subcommands: children.map((child) => ({ name: child.name(), description: child.description() })),
    options: help.visibleOptions(command).map((option) => ({
      long: option.long ?? "",
      short: option.short,
      description: option.description,
      takes: takes(option.flags),
      choices: option.argChoices ?? [],
    })),
    words: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    files: command.registeredArguments.some((argument) => FILE_ARGUMENTS.has(argument.name())),
  };
  return [node, ...children.flatMap((child) => completionTree(child, `${path} ${child.name()}`.trim()))];
}

/** A word of bash and zsh: `it's` is `'it'\''s'`. */
export function posixQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
