import type { Command } from "commander";
import type { Act, Cli } from "./cli.ts";
import { positive } from "./program-sessions.ts";
import type { LoadWraps, WireOptions } from "./wire.ts";

const NOTES = `
The program keeps its terminal, its tools and its own settings; what its model sees of the conversation comes from the engine
(lossless, where the configuration names none), and the conversation is a session of Pagurus: the next start with the same key
goes on with it. Its exit code is ours.

Summaries are made with the provider and key that the program uses, where the key is in the environment (ANTHROPIC_API_KEY,
OPENAI_API_KEY, the env_key of a Codex provider); where it is in a file of the program's own, they are extracts.

A program that is logged in by subscription is refused, or passes as it is with --observe.

Examples:
  $ pagurus wire -- codex
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
    .option("-s, --session <key>", "conversation (default: main)")
    .option("-a, --agent <id>", "agent (default: main)")
    .option("-e, --engine <id>", "context engine instead of the configuration's")
    .option(
      "-m, --model <ref>",
      "answer with this model of ours, as provider/model, instead of the program's",
    )
    .option("--context-window <n>", "tokens of the program's model, where they are not known", positive)
    .option("--capture", "keep each request and answer (pagurus requests)")
    .option("--observe", "let all requests pass as they are and only keep them")
    .addHelpText("after", NOTES)
    .action((words: string[], options: WireOptions) =>
      act(async () => (await import("./wire.ts")).wire(cli, words, options, load)),
    );
}
