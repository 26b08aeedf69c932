import { Option, type Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { SetupOptions } from "./setup-work.ts";

const HELP = `
Looks for agents and their logins, keys in the environment, local servers (Ollama, LM Studio, vLLM, llama.cpp) and
conversations of other agents, and asks what to use. Nothing is written before a yes. Without a terminal it prints what
it found and the commands. The same as login, init and onboard.

Examples:
  $ pagurus setup
  $ pagurus setup --undo
  $ pagurus setup < /dev/null`;

/** `setup`. */
export function addSetupCommand(program: Command, cli: Cli, act: Act): void {
  program
    .command("setup")
    .aliases(["login", "init", "onboard"])
    .description("find agents, keys, local servers and conversations, and open a chat with them")
    .option("--undo", "restore what the last setup changed; your own changes since stay")
    .addOption(new Option("--first").hideHelp())
    .addHelpText("after", HELP)
    .action((options: SetupOptions) =>
      act(async () => (await import("./setup-work.ts")).setup(cli, options)),
    );
}
