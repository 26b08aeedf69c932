import { Option, type Command } from "commander";
import { documentPath } from "@pagurus/core/platform/document";
import type { Act, Cli } from "../cli.ts";
import { positive } from "../sessions/sessions-command.ts";
import { JSON_OPTION } from "../shared-options.ts";
import type { ContinueOptions } from "./continue-work.ts";
import type { ForgetOptions } from "./forget-work.ts";
import type { FilesOptions, RestoreOptions } from "./keep-files.ts";
import type { LookOptions, ShowOptions } from "./keep-look.ts";
import type { KeepOptions } from "./keep-work.ts";
import type { RescueOptions } from "./rescue-work.ts";

const NOTES = `
The archive is in the folder keeper of the home. It follows no deletion, truncation or rewrite: those are recorded and reported, and what the
file had before stays. Logins, settings and caches of the programs are not kept. See ${documentPath("guides/keeper.md")}

Examples:
  $ pagurus keep
  $ pagurus keep once && pagurus keep status
  $ pagurus keep search "connection refused" --agent codex
  $ pagurus keep list --folder . && pagurus keep show 12
  $ pagurus keep files claude-code
  $ pagurus keep restore ~/.claude/projects/-work/6d2….jsonl --output before.jsonl --version 1`;

function addLooking(keep: Command, cli: Cli, act: Act): void {
  const load = () => import("./keep-look.ts");
  const filtered = (command: Command): Command =>
    command
      .option("--agent <program>", "only of a program, for example codex")
      .option("--folder <path>", "only of a folder and those below it")
      .option("--since <time>", "only from then on, for example 2026-11-30")
      .option("--until <time>", "only before then")
      .option("--limit <n>", "maximum number", positive)
      .option(...JSON_OPTION);
  filtered(keep.command("list").description("the kept conversations of all agents, the newest first")).action(
    (options: LookOptions) => act(async () => (await load()).keepList(cli, options)),
  );
  filtered(
    keep
      .command("search")
      .description("search the words of all agents")
      .argument("<words...>", "words to find"),
  ).action((words: string[], options: LookOptions) =>
    act(async () => (await load()).keepSearch(cli, words, options)),
  );
  keep
    .command("show")
    .description("a kept conversation, or a record of it with its neighbours")
    .argument("<conversation>", "its number, or its id at the program")
    .option("--at <record>", "the record that a hit of the search names", positive)
    .option("--around <n>", "neighbours before and after it (default: 3)", positive)
    .option("--all", "also what is no message, and what was replaced later")
    .option(...JSON_OPTION)
    .action((name: string, options: ShowOptions) =>
      act(async () => (await load()).keepShow(cli, name, options)),
    );
}

const CONTINUE_NOTES = `
A program resumes what it would send itself: where it has put a summary in place of older messages, the summary and what follows. --whole
writes all messages and no summary. Thoughts of the model are left out.

Examples:
  $ pagurus keep continue 12 --with codex
  $ pagurus keep continue 6d2 --with claude-code --whole`;

function addContinue(keep: Command, cli: Cli, act: Act): void {
  keep
    .command("continue")
    .description("write a kept conversation as a new session of a program, which it resumes")
    .argument("<conversation>", "its number, or its id at the program")
    .requiredOption("--with <program>", "claude-code, codex, opencode or pi")
    .option("--folder <path>", "working directory of the session (default: that of the conversation)")
    .option("--output <path>", "the file to write (default: where the program has its sessions)")
    .option("--version <n>", "a kept version of its file", positive)
    .option("--whole", "all messages, also those that a summary replaces")
    .option("--model <provider/model>", "for opencode (default: that of its newest kept message)")
    .option(...JSON_OPTION)
    .addHelpText("after", CONTINUE_NOTES)
    .action((name: string, options: ContinueOptions) =>
      act(async () => (await import("./continue-work.ts")).keepContinue(cli, name, options)),
    );
}

const FORGET_NOTES = `
Deletes their files with every version from the archive, and their words from its index. What other programs have is not touched; it is not kept
again, also under another name. Files with the prompts of many conversations (history.jsonl) stay.

Examples:
  $ pagurus keep forget 12
  $ pagurus keep forget --folder ~/private --yes
  $ pagurus keep forget --until 2026-01-01 --agent codex --yes
  $ pagurus keep forget --words "project falcon"`;

function addForget(keep: Command, cli: Cli, act: Act): void {
  keep
    .command("forget")
    .description("delete conversations from the archive")
    .argument("[conversation]", "its number, or its id at the program")
    .option("--words <words>", "those that have all of these words")
    .option("--agent <program>", "those of a program")
    .option("--folder <path>", "those of a folder and the folders below it")
    .option("--since <time>", "those whose last message is from then on")
    .option("--until <time>", "those whose last message is before then")
    .option("--yes", "delete them; without it they are only listed")
    .option(...JSON_OPTION)
    .addHelpText("after", FORGET_NOTES)
    .action((name: string | undefined, options: ForgetOptions) =>
      act(async () => (await import("./forget-work.ts")).keepForget(cli, name, options)),
    );
}

const RESCUE_NOTES = `
Found and replaced, among others: half-written lines, half characters, images and texts that are too large or not readable, calls and results that
are no pairs, thinking that is not valid, empty messages, a summary that is an error, parents that are missing or a circle, more items than a
request may have. ${documentPath("guides/keeper.md")} has them all.

Examples:
  $ pagurus rescue ~/.claude/projects/-work/6d2….jsonl --dry-run
  $ pagurus rescue ~/.codex/sessions/2026/…/rollout-….jsonl --version 1   # as it was before a rewrite`;

/** `rescue`. */
export function addRescueCommand(program: Command, cli: Cli, act: Act): void {
  program
    .command("rescue")
    .description("say why a session of Claude Code or Codex cannot continue, and write one that can")
    .argument("<file>", "the session's file; also one that is only kept")
    .option("--output <path>", "the file to write (default: a new session beside the original)")
    .option("--version <n>", "a kept version", positive)
    .option("--dry-run", "only say what is wrong")
    .option(...JSON_OPTION)
    .addHelpText("after", RESCUE_NOTES)
    .action((file: string, options: RescueOptions) =>
      act(async () => (await import("./rescue-work.ts")).rescueSession(cli, file, options)),
    );
}

/** `keep …`. */
export function addKeepCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./keep-work.ts");
  const files = () => import("./keep-files.ts");
  const keep = program
    .command("keep")
    .description("keep every word that the agents on this machine write, whatever they delete")
    .addHelpText("after", NOTES)
    // For a keeper that another process starts and ends.
    .addOption(new Option("--with-input", "end with standard input").hideHelp())
    .action((options: { withInput?: boolean }) => act(async () => (await load()).keepOn(cli, options)));
  keep
    .command("once")
    .description("keep what is new now, and end")
    .option(...JSON_OPTION)
    .action((options: KeepOptions) => act(async () => (await load()).keepOnce(cli, options)));
  keep
    .command("status")
    .description("what is kept, and what programs removed, shortened or rewrote")
    .option(...JSON_OPTION)
    .action((options: KeepOptions) => act(async () => (await load()).keepStatus(cli, options)));
  addLooking(keep, cli, act);
  addContinue(keep, cli, act);
  addForget(keep, cli, act);
  keep
    .command("files")
    .description("each file of a program's home: kept, not kept, and why")
    .argument("[program]", "for example codex; default: all")
    .option("--all", "each file, and not only how many there are of a kind")
    .option(...JSON_OPTION)
    .action((name: string | undefined, options: FilesOptions) =>
      act(async () => (await files()).keepFiles(cli, name, options)),
    );
  keep
    .command("restore")
    .description("write a kept file, as it is or as it was")
    .argument("<file>", "its path at the program")
    .requiredOption("--output <path>", "the file to write, which must not exist")
    .option("--version <n>", "the version; default: the newest", positive)
    .action((file: string, options: RestoreOptions) =>
      act(async () => (await files()).keepRestore(cli, file, options)),
    );
  keep
    .command("export")
    .description("write every version of every kept file, and a list of them, into a folder")
    .argument("<folder>", "a folder that is empty or does not exist")
    .action((folder: string) => act(async () => (await files()).keepExport(cli, folder)));
}
