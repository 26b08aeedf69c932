import { JSON_OPTION } from "../shared-options.ts";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { DeleteOptions, ExportOptions, ForkOptions, ImportOptions } from "./sessions-work.ts";
import type { PickOptions } from "./sessions-pick.ts";
import type { ListOptions, SearchOptions, ShowOptions } from "./sessions-show.ts";

const EXAMPLES = `
Examples:
  $ pagurus sessions list
  $ pagurus sessions pick
  $ pagurus sessions show --last 20
  $ pagurus sessions search "connection refused"
  $ pagurus sessions export main --output main.jsonl
  $ pagurus sessions import ~/.claude/projects/FOLDER/SESSION.jsonl --session old-work
  $ pagurus sessions fork main experiment`;

/** Parses a whole number of at least 1. */
export function positive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("Use a whole number, 1 or more.");
  return value;
}

const AGENT = ["-a, --agent <id>", "agent that owns the sessions (default: main)"] as const;

function addReading(sessions: Command, cli: Cli, act: Act): void {
  const load = () => import("./sessions-show.ts");
  sessions
    .command("list")
    .description("list conversations, newest first")
    .option(...AGENT)
    .option("--all", "earlier generations (before /new or /reset) too")
    .option("--json", "print JSON: each record whole, with key, id and sizes")
    .action((options: ListOptions) => act(async () => (await load()).listSessions(cli, options)));
  sessions
    .command("pick")
    .description("choose a conversation of this folder and open it as a chat; in $(…): print its key")
    .option(...AGENT)
    .option("--all", "conversations of every folder")
    .action((options: PickOptions) =>
      act(async () => (await import("./sessions-pick.ts")).pickSession(cli, options)),
    );
  sessions
    .command("show")
    .description("print a conversation; interrupted turns and rewound parts are marked")
    .argument("[key]", "session key (default: the folder's last conversation)")
    .option(...AGENT)
    .option("--last <n>", "only the newest n of the printed entries", positive)
    .option("--raw", "the transcript's raw lines")
    .option("--json", "print JSON lines: each entry with onPath and interrupted")
    .action((key: string | undefined, options: ShowOptions) =>
      act(async () => (await load()).showSession(cli, key, options)),
    );
  sessions
    .command("search")
    .description("search all messages")
    .argument("<query>", "words to find")
    .option(...AGENT)
    .option("-s, --session <key>", "only in this conversation")
    .option("--limit <n>", "maximum number of hits (default: 20)", positive)
    .option(...JSON_OPTION)
    .action((query: string, options: SearchOptions) =>
      act(async () => (await load()).searchSessions(cli, query, options)),
    );
}

function addMoving(sessions: Command, cli: Cli, act: Act): void {
  const load = () => import("./sessions-work.ts");
  sessions
    .command("export")
    .description("write a conversation to standard output or a file")
    .argument("<key>", "session key")
    .option(...AGENT)
    .option("-o, --output <file>", "file to write; an existing one is refused")
    .addOption(
      new Option("--format <format>", "jsonl is the transcript byte for byte, markdown is for people")
        .choices(["jsonl", "markdown"])
        .default("jsonl"),
    )
    .action((key: string, options: ExportOptions) =>
      act(async () => (await load()).exportSession(cli, key, options)),
    );
  sessions
    .command("import")
    .description("import a conversation of Pagurus, Claude Code, Codex, pi or lossless-claw")
    .argument(
      "<file>",
      "file of sessions export, session file of the other program, lcm.db, or a folder of these",
    )
    .option(...AGENT)
    .option("-s, --session <key>", "key to store it under; of an lcm.db: the conversation to take")
    .addOption(
      new Option("--format <format>", "which program wrote the file")
        .choices(["auto", "pagurus", "claude-code", "codex", "pi", "lcm"])
        .default("auto"),
    )
    .action((file: string, options: ImportOptions) =>
      act(async () => (await load()).importSession(cli, file, options)),
    );
}

function addChanging(sessions: Command, cli: Cli, act: Act): void {
  const load = () => import("./sessions-work.ts");
  sessions
    .command("fork")
    .description("copy a conversation, up to an entry, under a new key")
    .argument("<key>", "session key")
    .argument("<new-key>", "key of the copy")
    .option(...AGENT)
    .option("--entry <id>", "last entry to copy (default: the newest)")
    .action((key: string, newKey: string, options: ForkOptions) =>
      act(async () => (await load()).forkSession(cli, key, newKey, options)),
    );
  sessions
    .command("rewind")
    .description("end a conversation at an earlier entry; nothing is erased, files are unchanged")
    .argument("<key>", "session key")
    .argument("<entry>", "entry id, `start` for an empty conversation, `undo` for before the last turn")
    .option(...AGENT)
    .action((key: string, entry: string, options: { agent?: string }) =>
      act(async () => (await load()).rewind(cli, key, entry, options)),
    );
  sessions
    .command("delete")
    .description("erase a conversation and all its stored text")
    .argument("<key>", "session key")
    .option(...AGENT)
    .option("--yes", "do not ask")
    .action((key: string, options: DeleteOptions) =>
      act(async () => (await load()).deleteSession(cli, key, options)),
    );
}

/** `sessions …`. */
export function addSessionCommands(program: Command, cli: Cli, act: Act): void {
  const sessions = program
    .command("sessions")
    .description("list, read, search, move and delete conversations")
    .addHelpText("after", EXAMPLES);
  addReading(sessions, cli, act);
  addMoving(sessions, cli, act);
  addChanging(sessions, cli, act);
}
