import type { Command } from "commander";
import { documentPath } from "@pagurus/core/platform/document";
import type { Act, Cli } from "../cli.ts";
import type { InsideOptions } from "./inside-work.ts";

const NOTES = `
An adapter runs inside the program, with its own login: compactions are answered by the engine without a model request, every message is
kept word for word, large tool results are kept and shown in part. Without a host the program works as without the adapter.

Each change is shown before it is made. pagurus uninstall restores every file byte for byte from a copy, and leaves alone what
you have changed since. See ${documentPath("guides/inside.md")}

Examples:
  $ pagurus install
  $ pagurus install claude-code --yes
  $ pagurus uninstall claude-code`;

/** `install`, `uninstall`. */
export function addInsideCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./inside-work.ts");
  program
    .command("install")
    .description("put the engine into the agents you use (Claude Code, OpenCode, pi)")
    .argument("[program...]", "default: each one that is found")
    .option("--yes", "do not ask")
    .option("--dry-run", "show the changes and make none")
    .addHelpText("after", NOTES)
    .action((programs: string[], options: InsideOptions) =>
      act(async () => (await load()).installInside(cli, programs, options)),
    );
  program
    .command("uninstall")
    .description("take the engine out of them again, and restore their files")
    .argument("[program...]", "default: each one that has it")
    .option("--yes", "do not ask")
    .option("--dry-run", "show what would be restored and change nothing")
    .action((programs: string[], options: InsideOptions) =>
      act(async () => (await load()).uninstallInside(cli, programs, options)),
    );
}
