import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { StoreCopyOptions, StoreInitOptions, StoreOptions } from "./store-work.ts";

const NOTES = `
The sessions of several hosts are in PostgreSQL. Without a URL on the command line, which other users of the
machine can see, PAGURUS_STORE_URL is read, then store.url of the configuration.

Examples:
  $ export PAGURUS_STORE_URL=postgres://pagurus@db.example/pagurus
  $ pagurus store init
  $ pagurus store copy --to
  $ pagurus store status`;

const SCHEMA = [
  "--schema <name>",
  "schema of the tables (default: the configuration's, else pagurus)",
] as const;

/** `store`. */
export function addStoreCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./store-work.ts");
  const store = program
    .command("store")
    .description("the sessions of several hosts in PostgreSQL")
    .addHelpText("after", NOTES);
  store
    .command("init")
    .description("create the tables, or bring them to this version")
    .option("--url <url>", "postgres://USER@HOST/DATABASE")
    .option(...SCHEMA)
    .option("--rls", "row-level security: each role of the database sees its own sessions only")
    .option("--grant <role...>", "roles that may use the tables")
    .option(...JSON_OPTION)
    .action((options: StoreInitOptions) => act(async () => await (await load()).storeInit(cli, options)));
  store
    .command("status")
    .description("version, sessions, leases and size")
    .option("--url <url>", "as for init")
    .option(...SCHEMA)
    .option(...JSON_OPTION)
    .action((options: StoreOptions) =>
      act(async () => await (await load()).storeStatusCommand(cli, options)),
    );
  store
    .command("copy")
    .description(
      "copy this home's sessions, jobs and tokens into PostgreSQL, or back; a copy that was cut off is continued",
    )
    .option("--to [url]", "copy into this database")
    .option("--from [url]", "copy out of it")
    .option(...SCHEMA)
    .option(...JSON_OPTION)
    .action((options: StoreCopyOptions) => act(async () => await (await load()).storeCopy(cli, options)));
}
