import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { MigrateOptions } from "./migrate-work.ts";

const EXAMPLES = `
OpenClaw's files are only read. What was taken before is skipped, so the next run continues an interrupted one.

Examples:
  $ pagurus migrate openclaw --dry-run
  $ pagurus migrate openclaw
  $ pagurus migrate openclaw --from /backup/openclaw --json`;

/** `migrate …`. */
export function addMigrateCommands(program: Command, cli: Cli, act: Act): void {
  const migrate = program
    .command("migrate")
    .description("take over configuration and conversations of another program");
  migrate
    .command("openclaw")
    .description("take over openclaw.json, every agent's conversations and lcm.db")
    .option("--from <dir>", "home of OpenClaw (default: OPENCLAW_STATE_DIR, else ~/.openclaw)")
    .option("--dry-run", "write nothing, print the same report")
    .option("--overwrite", "where pagurus.json has another value, take OpenClaw's")
    .option(...JSON_OPTION)
    .addHelpText("after", EXAMPLES)
    .action((options: MigrateOptions) =>
      act(async () => (await import("./migrate-work.ts")).migrate(cli, options)),
    );
}
