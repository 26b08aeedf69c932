import { AGENT_OPTION, CWD_OPTION, JSON_OPTION, SESSION_OPTION } from "../shared-options.ts";
import { InvalidArgumentError, type Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { LookOptions, ExpandOptions, StoreOptions, StoreSearchOptions } from "./lossless-work.ts";
import type { StoreExportOptions, StoreWorkOptions } from "./lossless-care.ts";
import { positive } from "../sessions/sessions-command.ts";

const EXAMPLES = `
The store is built from the transcripts and can be rebuilt: nothing here can lose data.

Examples:
  $ pagurus lossless status
  $ pagurus lossless search "connection refused" --all
  $ pagurus lossless expand 01KB2C0WZ9
  $ pagurus lossless verify || pagurus lossless rebuild
  $ pagurus lossless work --for 60s`;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/** Parses `60s`, `5m`, `1h` or seconds into ms. */
function duration(text: string): number {
  const [, number = "", unit = "s"] = /^(\d+(?:\.\d+)?)([smh]?)$/.exec(text) ?? [];
  const seconds = Number(number) * (UNITS[unit || "s"] ?? 1);
  if (number === "" || seconds <= 0 || seconds > 2_000_000)
    throw new InvalidArgumentError("Use a time such as 60s, 5m or 1h.");
  return seconds * 1_000;
}

function offset(text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError("Use a whole number, 0 or more.");
  return value;
}

function addLooking(lossless: Command, cli: Cli, act: Act): void {
  const load = () => import("./lossless-work.ts");
  lossless
    .command("status")
    .description("what is stored, summarized, pending and spent")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: StoreOptions) => act(async () => (await load()).storeStatus(cli, options)));
  lossless
    .command("search")
    .description("search all messages, and summaries")
    .argument("<query>", "words to find")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option("--all", "in every conversation of the agent")
    .option("--limit <n>", "maximum number of hits (default: 20)", positive)
    .option(...JSON_OPTION)
    .action((query: string, options: StoreSearchOptions) =>
      act(async () => (await load()).storeSearch(cli, query, options)),
    );
  lossless
    .command("describe")
    .description("what an entry or a summary is, and its position")
    .argument("<id>", "id of an entry or a summary")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((id: string, options: LookOptions) =>
      act(async () => (await load()).storeDescribe(cli, id, options)),
    );
  lossless
    .command("expand")
    .description("the original text of an entry, or of what a summary covers, in pages")
    .argument("<id>", "id of an entry or a summary")
    .option(...SESSION_OPTION)
    .option(...AGENT_OPTION)
    .option("--after <entry>", "of a summary: continue after this entry")
    .option("--offset <n>", "of an entry: continue at this character", offset)
    .option("--max-tokens <n>", "tokens of a page", positive)
    .option(...JSON_OPTION)
    .action((id: string, options: ExpandOptions) =>
      act(async () => (await load()).storeExpand(cli, id, options)),
    );
}

function addCare(lossless: Command, cli: Cli, act: Act): void {
  const load = () => import("./lossless-care.ts");
  lossless
    .command("verify")
    .description("check the store and compare it with the transcripts; exit 1 on a problem")
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: StoreOptions) => act(async () => (await load()).storeVerify(cli, options)));
  lossless
    .command("rebuild")
    .description(
      "rebuild the store from the transcripts; the old one stays in use until the new one is complete",
    )
    .option("-s, --session <key>", "only this conversation, in the existing store")
    .option(...AGENT_OPTION)
    .option(...JSON_OPTION)
    .action((options: StoreOptions) => act(async () => (await load()).storeRebuild(cli, options)));
  lossless
    .command("backup")
    .description("copy the store to a file, also while it is in use")
    .argument("<file>", "file to write; an existing one is refused")
    .option(...AGENT_OPTION)
    .action((file: string, options: StoreOptions) =>
      act(async () => (await load()).storeBackup(cli, file, options)),
    );
  lossless
    .command("export")
    .description("print entries and summaries with their origin, as JSON lines")
    .option("-s, --session <key>", "only this conversation")
    .option(...AGENT_OPTION)
    .option("-o, --output <file>", "file to write; an existing one is refused")
    .action((options: StoreExportOptions) => act(async () => (await load()).storeExport(cli, options)));
  lossless
    .command("work")
    .description("run the due work now: parts, summaries of a model, the index")
    .option("--for <time>", "stop after this time: 60s, 5m, 1h (default: when nothing is due)", duration)
    .option(...AGENT_OPTION)
    .option(...CWD_OPTION)
    .option(...JSON_OPTION)
    .action((options: StoreWorkOptions) => act(async () => (await load()).storeWork(cli, options)));
}

/** `lossless …`. */
export function addLosslessCommands(program: Command, cli: Cli, act: Act): void {
  const lossless = program
    .command("lossless")
    .description("inspect and maintain the store of the engine lossless")
    .addHelpText("after", EXAMPLES);
  addLooking(lossless, cli, act);
  addCare(lossless, cli, act);
}
