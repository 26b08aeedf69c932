import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import { documentPath } from "@pagurus/core/platform/document";
import type { TrustListOptions } from "./trust-work.ts";

const NOTES = `
Until a folder is trusted, nothing in it decides an address, a program, a hook or a permission. A repository is trusted as a whole;
a repository inside it has a trust of its own. See ${documentPath("guides/trust.md")}

Examples:
  $ pagurus trust add
  $ pagurus trust add ~/work/app
  $ pagurus trust remove
  $ pagurus config set trust.folders '["~/work/*"]'`;

/** `trust …`. */
export function addTrustCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./trust-work.ts");
  const trust = program
    .command("trust")
    .description("list, add and remove the folders that may decide something")
    .addHelpText("after", NOTES);
  trust
    .command("list")
    .description("every answer, and that about the current folder")
    .option(...JSON_OPTION)
    .action((options: TrustListOptions) => act(async () => (await load()).trustList(cli, options)));
  trust
    .command("add")
    .description("trust a folder from now on")
    .argument("[folder]", "default: the current one")
    .action((folder: string | undefined) => act(async () => (await load()).trustAdd(cli, folder)));
  trust
    .command("remove")
    .description("forget the answer about a folder")
    .argument("[folder]", "default: the current one")
    .action((folder: string | undefined) => act(async () => (await load()).trustRemove(cli, folder)));
}
