import { JSON_OPTION } from "../shared-options.ts";
import { Option, type Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { JobAddOptions } from "./jobs-work.ts";

const NOTES = `
A job posts a prompt to a session at set times, while pagurus serve runs.

Examples:
  $ pagurus jobs add "0 8 * * 1-5" --session work --tz Europe/Berlin "Summarize the open issues."
  $ pagurus jobs add --at 2026-12-01T08:00 --session work "Remind me of the release."
  $ pagurus jobs add --every 30m --session inbox --check-file mail.txt "Sort the new mail."
  $ pagurus jobs list`;

/** `jobs`. */
export function addJobCommands(program: Command, cli: Cli, act: Act): void {
  const load = () => import("./jobs-work.ts");
  const jobs = program
    .command("jobs")
    .description("prompts that the server posts at set times")
    .addHelpText("after", NOTES);
  jobs
    .command("add <text...>")
    .description("create a job: a cron expression and the prompt, or the prompt alone with --at or --every")
    .requiredOption("--session <key>", "session that it is for")
    .option("--agent <id>", "agent of the configuration", "main")
    .option("--at <time>", "once, at this time, such as 2026-12-01T08:00")
    .option("--every <duration>", "again and again, such as 30m, 6h or 1d")
    .option("--tz <zone>", "time zone, such as Europe/Berlin (default: this machine's)")
    .addOption(
      new Option(
        "--missed <policy>",
        "times while no server ran: skip them, or run once (default: skip; with --at: once)",
      ).choices(["skip", "once"]),
    )
    .option("--model <ref>", "model as provider/model")
    .option("--check-file <path>", "run only if this file has changed since the last run")
    .option("--check-command <command>", "run only if this shell command exits with 0")
    .option(...JSON_OPTION)
    .action((text: string[], options: JobAddOptions) =>
      act(async () => (await load()).jobAdd(cli, text, options)),
    );
  jobs
    .command("list")
    .description("jobs, the next one first")
    .option(...JSON_OPTION)
    .action((options: { json?: boolean }) => act(async () => (await load()).jobList(cli, options)));
  const actions = [
    ["remove", "remove a job"],
    ["pause", "pause a job"],
    ["resume", "continue a paused job"],
    ["run", "run a job now"],
  ] as const;
  for (const [name, description] of actions)
    jobs
      .command(`${name} <id>`)
      .description(description)
      .action((id: string) => act(async () => (await load()).jobChange(cli, name, id)));
}
