import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import { positive } from "../sessions/sessions-command.ts";
import type { LoadWraps, WireOptions } from "./wire-work.ts";

const NOTES = `
The program keeps its terminal, its tools and its own settings; what its model sees of the conversation comes from the engine
(lossless, where the configuration names none), and the conversation is a session of Pagurus. Each start creates a new one of this
folder, as the program itself does; the program's own resume options find theirs, and --continue continues the folder's
last conversation, of any agent. Its exit code is ours.

Summaries are made with the provider and key that the program uses, where the key is in the environment (ANTHROPIC_API_KEY,
OPENAI_API_KEY, the env_key of a Codex provider); where it is in a file of the program's own, they are extracts.

A program that is logged in by subscription is refused, or passes unchanged with --observe.

Examples:
  $ pagurus wire -- codex
  $ pagurus wire --continue -- claude
  $ pagurus wire -- claude --continue
  $ pagurus wire --session work -- claude
  $ pagurus wire --session work -- codex exec "What is left to do?"
  $ pagurus wire --observe -- claude -p "Hello."`;

/** `wire`. */
export function addWireCommand(program: Command, cli: Cli, act: Act, load?: LoadWraps): void {
  program
    .command("wire")
    .description("run your own Codex or Claude Code with an engine and a session of Pagurus")
    .usage("[options] -- <program> [arguments...]")
    .argument("[program...]", "codex or claude, or a path to one, with its own arguments")
    .option("-s, --session <key>", "conversation of this key, created if there is none (default: a new one)")
    .option("--continue [key]", "continue the folder's last conversation, or the one of this key")
    .option("-a, --agent <id>", "agent (default: main)")
    .option("-e, --engine <id>", "context engine instead of the configuration's")
    .option(
      "-m, --model <ref>",
      "answer with this model of ours, as provider/model, instead of the program's",
    )
    .option("--context-window <n>", "context window of the program's model in tokens, if unknown", positive)
    .option("--capture", "keep each request and answer (pagurus requests)")
    .option("--observe", "pass all requests unchanged and only record them")
    .addHelpText("after", NOTES)
    .action((words: string[], options: WireOptions) =>
      act(async () => (await import("./wire-work.ts")).wire(cli, words, options, load)),
    );
}
