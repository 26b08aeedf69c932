import { AGENT_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import { BUNDLED_PROGRAMS } from "@pagurus/core/config/bundled";
import type { Act, Cli } from "../cli.ts";
import { positive } from "../sessions/sessions-command.ts";
import type { WrapSource } from "./wire-choice.ts";
import type { WireOptions } from "./wire-work.ts";

const NOTES = `
The program keeps its terminal, its tools and its own settings; what its model sees of the conversation comes from the engine
(lossless, where the configuration names none), and the conversation is a session of Pagurus. Each start creates a new one of this
folder, as the program itself does; the program's own resume options find theirs, and --continue continues the folder's
last conversation, of any agent. Its exit code is ours.

Summaries are made with the provider and key that the program uses, where the key is in the environment (ANTHROPIC_API_KEY,
OPENAI_API_KEY, the env_key of a Codex provider); where it is in a file of the program's own, they are extracts.

A program that is logged in by subscription is refused: the terms of most providers allow such a login to their own programs alone.
With --login (or wire.ownLogin: true in the configuration) you say that yours allow this; its requests then pass with their own
credentials, which are never read or stored, to the hosts of its maker and to no other (wire.loginHosts names more). With --observe
they pass unchanged.

A file of the folder sets an address only if the program itself trusts the folder, or, for a program that keeps no such record, if you
do (pagurus trust, --trust).

Examples:
  $ pagurus wire -- codex
  $ pagurus wire --continue -- claude
  $ pagurus wire -- claude --continue
  $ pagurus wire --session work -- claude
  $ pagurus wire --session work -- codex exec "What is left to do?"
  $ pagurus wire --observe -- claude -p "Hello."
  $ pagurus wire --api completions --base-url-env LLM_URL -- my-agent
  $ pagurus wire --api messages --print`;

function repeated(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** `wire`. */
export function addWireCommand(program: Command, cli: Cli, act: Act, source?: WrapSource): void {
  program
    .command("wire")
    .description(
      "run your own coding agent (Codex, Claude Code, any other) with an engine and a session of Pagurus",
    )
    .usage("[options] -- <program> [arguments...]")
    .argument(
      "[program...]",
      `${BUNDLED_PROGRAMS.join(", ")}, or any with --api; or a path to one, with its own arguments`,
    )
    .option("-s, --session <key>", "conversation of this key, created if there is none (default: a new one)")
    .option("--continue [key]", "continue the folder's last conversation, or the one of this key")
    .option(...AGENT_OPTION)
    .option("-e, --engine <id>", "context engine instead of the configuration's")
    .option(
      "-m, --model <ref>",
      "answer with this model of ours, as provider/model, instead of the program's",
    )
    .option("--context-window <n>", "context window of the program's model in tokens, if unknown", positive)
    .option("--login", "let a program that is logged in by subscription use its own login; see below")
    .option("--trust", "let files of this folder decide, in this run")
    .option("--api <name>", "protocol of any other program: responses, messages, completions or gemini")
    .option(
      "--base-url-env <name>",
      "variable that it reads its base URL from (default: of the API's own client)",
    )
    .option("--key-env <name>", "variable that it reads its key from (default: of the API's provider)")
    .option(
      "--upstream <url>",
      "address of its provider (default: the variable's value, or the API's provider)",
    )
    .option("--arg <text>", "argument that points it to {url}; may be repeated", repeated)
    .option("--print", "print what to set by hand, and serve until Ctrl-C")
    .option("--capture", "keep each request and answer (pagurus requests)")
    .option("--observe", "pass all requests unchanged and only record them")
    .addHelpText("after", NOTES)
    .action((words: string[], options: WireOptions) =>
      act(async () => (await import("./wire-work.ts")).wire(cli, words, options, source)),
    );
}
