import { existsSync } from "node:fs";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { isPagurusError } from "@pagurus/contract/errors";
import { migrateOpenClaw, type Migration } from "@pagurus/importers/openclaw/migrate-home";
import type { JobPlace } from "@pagurus/importers/openclaw/jobs/take-jobs";
import { serverDatabaseFile } from "@pagurus/inbox/server-database";
import { plural } from "@pagurus/core/data/plain-numbers";
import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { type Cli, printJson, printLine } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED } from "../cli-failure.ts";
import { withRecords } from "../server/own-records.ts";

export interface MigrateOptions {
  from?: string;
  dryRun?: boolean;
  overwrite?: boolean;
  json?: boolean;
}

/** Interval of progress lines, ms. */
const PROGRESS_MS = 2_000;
type Conversation = Migration["conversations"][number];

/** `migrate openclaw`. Exit 1 when a part that should have been taken was not, 130 when it was stopped. */
export async function migrate(cli: Cli, options: MigrateOptions): Promise<number> {
  const dryRun = options.dryRun === true;
  const human = options.json !== true;
  let stopped = false;
  const release = cli.onInterrupt(() => {
    stopped = true;
  });
  let next = Date.now() + PROGRESS_MS;
  try {
    const report = await migrateOpenClaw({
      from: options.from,
      cwd: cli.cwd,
      home: resolveHome(cli.env),
      env: cli.env,
      dryRun,
      overwrite: options.overwrite === true,
      begun: (begun) => {
        if (human) printConfig(cli, begun);
      },
      onConversation: (conversation, done, total) => {
        if (human) printConversation(cli, conversation, dryRun);
        if (Date.now() < next) return;
        next = Date.now() + PROGRESS_MS;
        printLine(cli.stderr, `${done} of ${total} conversations`);
      },
      stopped: () => stopped || cli.outputLost(),
      // A dry run makes no database.
      withJobs: dryRun && !hasJobs(cli) ? undefined : (work) => withJobs(cli, work),
    });
    if (human) printEnd(cli, report);
    else printJson(cli, report);
    return exitCode(report);
  } finally {
    release();
  }
}

function hasJobs(cli: Cli): boolean {
  return existsSync(serverDatabaseFile(resolveHome(cli.env)));
}

/** The jobs of this home, whether its server runs or not. Throws what `withRecords` throws. */
function withJobs(cli: Cli, work: (place: JobPlace) => Promise<void>): Promise<void> {
  return withRecords(cli, ({ jobs }) =>
    work({
      has: async (id) => {
        try {
          await jobs.get(id);
          return true;
        } catch (error) {
          if (isPagurusError(error) && error.code === "job_not_found") return false;
          throw error;
        }
      },
      add: async ({ id, ...job }) => {
        await jobs.add(job, id);
      },
    }),
  );
}

function exitCode({ stopped, config, conversations, jobs, problems }: Migration): number {
  if (stopped) return EXIT_INTERRUPTED;
  const failed = [...conversations, ...jobs].some(({ state }) => state === "failed") || problems.length > 0;
  return failed || config.state === "failed" ? EXIT_FAILED : EXIT_DONE;
}

function printConfig(cli: Cli, { source, home, dryRun, config }: Migration): void {
  const say = (text: string): void => sayTo(cli, text);
  say(`From ${source} to ${home}${dryRun ? " (nothing is written)" : ""}`);
  say("");
  say("Configuration");
  switch (config.state) {
    case "absent":
      say(`  There is no ${config.source}.`);
      break;
    case "failed":
      say(`  Not taken: ${config.problem ?? ""}`);
      break;
    case "made":
      say(`  ${dryRun ? "Would be written" : "Written"} to ${config.file}.`);
      break;
    case "merged":
      say(
        `  ${dryRun ? "Would be written" : "Written"} into ${config.file}${dryRun ? "" : `; as it was, it is ${config.backup ?? ""}`}.`,
      );
      break;
    case "unchanged":
      say(`  Nothing to write into ${config.file}.`);
  }
  for (const path of config.taken) say(`  taken      ${path}`);
  for (const { path, as } of config.renamed) say(`  becomes    ${path} → ${as}`);
  for (const sentence of config.mended) say(`  repaired   ${sentence}`);
  for (const { path, overwritten } of config.conflicts)
    say(
      overwritten
        ? `  replaced   ${path}: pagurus.json had another value`
        : `  conflict   ${path}: pagurus.json has another value, which stays (--overwrite takes OpenClaw's)`,
    );
  for (const { path, why } of config.notTaken) say(`  not taken  ${path}: ${why}`);
  for (const note of config.notes) say(`  note       ${note}`);
  say("");
  say("Conversations");
}

/** Prints text with another program's keys and ids, made safe for the terminal. */
function sayTo(cli: Cli, text: string): void {
  printLine(cli.stdout, escapedUnseen(text));
}

const STATES = { taken: "taken    ", here: "here     ", empty: "empty    ", failed: "NOT TAKEN" } as const;

function printConversation(cli: Cli, conversation: Conversation, dryRun: boolean): void {
  const { agentId, sourceId, from, state, sessionKey, what } = conversation;
  const name = sessionKey === undefined ? `${sourceId} (${from})` : sessionKey;
  const [first = "", ...more] = what;
  const label = state === "taken" && dryRun ? "would be " : STATES[state];
  sayTo(cli, `  ${label}  ${agentId}  ${name}: ${first}`);
  for (const sentence of more) sayTo(cli, `  ${" ".repeat(11)}${sentence}`);
}

const JOB_STATES = { ...STATES, paused: "paused   ", removed: "removed  ", left: "not taken" } as const;

function printJobs(cli: Cli, { jobs, dryRun }: Migration): void {
  if (jobs.length === 0) return;
  sayTo(cli, "");
  sayTo(cli, "Jobs");
  for (const { agentId, name, id, state, what } of jobs) {
    const isNew = state === "taken" || state === "paused";
    const label = isNew && dryRun ? "would be " : JOB_STATES[state];
    const as = id === undefined ? "" : ` as ${id}${state === "paused" ? ", paused" : ""}`;
    sayTo(cli, `  ${label}  ${agentId}  ${name}${as}`);
    for (const sentence of what) sayTo(cli, `  ${" ".repeat(11)}${sentence}`);
  }
}

function printEnd(cli: Cli, report: Migration): void {
  const { conversations, jobs, problems, leftOut, notes, dryRun, stopped } = report;
  const count = (state: Conversation["state"]): number =>
    conversations.filter((each) => each.state === state).length;
  if (conversations.length === 0) sayTo(cli, "  There are none.");
  for (const problem of problems) sayTo(cli, `  ${STATES.failed}  ${problem}`);
  for (const sentence of leftOut) sayTo(cli, `  ${sentence}`);
  const messages = conversations.reduce((sum, each) => sum + each.messages, 0);
  printJobs(cli, report);
  sayTo(cli, "");
  sayTo(
    cli,
    `${plural(count("taken"), "conversation")} ${dryRun ? "would be taken" : "taken"} with ${plural(messages, "message")}, ${count("here")} here before, ${count("empty")} empty, ${count("failed")} failed.`,
  );
  const made = jobs.filter(({ state }) => state === "taken" || state === "paused");
  if (jobs.length > 0)
    sayTo(
      cli,
      `${plural(made.length, "job")} ${dryRun ? "would be created" : "created"}, ${jobs.length - made.length} not.`,
    );
  if (stopped) sayTo(cli, "Stopped before the end; run it again to continue.");
  for (const note of notes) sayTo(cli, note);
  sayTo(cli, "Logins of OpenClaw are not taken: pagurus doctor lists the usable models.");
}
