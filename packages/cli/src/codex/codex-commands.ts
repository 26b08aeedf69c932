import { AGENT_OPTION, JSON_OPTION, SESSION_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { CodexOptions, ThreadsOptions } from "./codex-work.ts";
import { positive } from "../sessions/sessions-command.ts";
import { turnOptions } from "../run/turn-command.ts";
import type { TurnOptions } from "../run/turn-request.ts";

const EXAMPLES = `
A thread is named by its id, or the beginning of it. Threads of Codex are only read: a session gets a copy of
their messages.

Examples:
  $ pagurus codex threads
  $ pagurus codex bind 019a2d7a --session old-work
  $ pagurus codex resume last "Where were we?"
  $ pagurus codex steer "Leave the tests as they are" --session work
  $ pagurus codex stop --session work`;

function addThreads(codex: Command, cli: Cli, act: Act): void {
  const load = () => import("./codex-work.ts");
  codex
    .command("threads")
    .description("list Codex's threads of this folder, the last used first")
    .option("--all", "threads of every folder")
    .option("--limit <n>", "maximum number of threads (default: 50)", positive)
    .option("-C, --cwd <dir>", "folder (default: the current one)")
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: ThreadsOptions) => act(async () => (await load()).threads(cli, options)));
  codex
    .command("bind")
    .description("take over a thread: its history becomes a conversation here")
    .argument("<thread>", "thread")
    .option("-s, --session <key>", "new or empty conversation for it (default: codex:<thread>)")
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((thread: string, options: CodexOptions) =>
      act(async () => (await load()).bind(cli, thread, options)),
    );
  turnOptions(codex.command("resume"), { session: false })
    .description("continue a thread's conversation, taking it over first if it has none")
    .argument("[thread]", "thread, or last (the default) for the one last used in this folder")
    .argument("[prompt]", "run this one turn; without it a chat opens")
    .action((thread: string | undefined, prompt: string | undefined, options: TurnOptions) =>
      act(async () => (await load()).resume(cli, thread, prompt, options)),
    );
}

function addTurn(codex: Command, cli: Cli, act: Act): void {
  const load = () => import("./codex-work.ts");
  codex
    .command("steer")
    .description("send a message to the running turn of a conversation, from another terminal")
    .argument("<text>", "text added to the turn before its next model call")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((text: string, options: CodexOptions) =>
      act(async () => (await load()).steer(cli, text, options)),
    );
  codex
    .command("stop")
    .description("abort the running turn of a conversation, from another terminal")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: CodexOptions) => act(async () => (await load()).stop(cli, options)));
  codex
    .command("status")
    .description("the Codex program, its login, and the thread of a conversation")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: CodexOptions) => act(async () => (await load()).status(cli, options)));
}

/** `codex …`. */
export function addCodexCommands(program: Command, cli: Cli, act: Act): void {
  const codex = program
    .command("codex")
    .description("Codex's own threads, and the running turn")
    .addHelpText("after", EXAMPLES);
  addThreads(codex, cli, act);
  addTurn(codex, cli, act);
}
