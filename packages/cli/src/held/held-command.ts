import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { HeldOptions } from "./held-work.ts";

const HELD = `
What a command of the agent wrote where git, agents, editors or shells start from is moved out of the workspace. Look at it
before you take it over: it runs as you.

Examples:
  $ pagurus held list
  $ pagurus held take 20261129-7f3a01b2
  $ pagurus held drop 20261129-7f3a01b2`;

/** `held …`. */
export function addHeldCommands(program: Command, cli: Cli, act: Act): void {
  const held = program
    .command("held")
    .description("list, take over or drop what commands left where other programs start from")
    .addHelpText("after", HELD);
  const load = () => import("./held-work.ts");
  held
    .command("list")
    .description("everything held back, oldest first, with the files that hold it")
    .option(...JSON_OPTION)
    .action((options: HeldOptions) => act(async () => (await load()).heldList(cli, options)));
  held
    .command("take")
    .description("move it to its place in the workspace")
    .argument("<id>", "as `held list` shows it")
    .action((id: string) => act(async () => (await load()).heldTake(cli, id)));
  held
    .command("drop")
    .description("delete it")
    .argument("<id>", "as `held list` shows it")
    .action((id: string) => act(async () => (await load()).heldDrop(cli, id)));
}
