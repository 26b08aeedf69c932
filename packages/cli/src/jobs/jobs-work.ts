import { resolve } from "node:path";
import { oneLine, table } from "@pagurus/host/command/layout";
import { agentSettings } from "@pagurus/core/config/agent-settings";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { loadConfig } from "@pagurus/core/config/load-config";
import { assertSessionKey } from "@pagurus/host/stores/files/keys";
import { PagurusError } from "@pagurus/contract/errors";
import { timeInZone } from "@pagurus/inbox/schedule/due-times";
import type { Job, JobTimes, MissedPolicy } from "@pagurus/inbox/schedule/job";
import type { JobCheck } from "@pagurus/api/types";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { withRecords } from "../server/own-records.ts";
import { defined } from "@pagurus/core/data/defined";

export interface JobAddOptions {
  session: string;
  agent: string;
  at?: string;
  every?: string;
  tz?: string;
  missed?: MissedPolicy;
  model?: string;
  checkFile?: string;
  checkCommand?: string;
  json?: boolean;
}

/** Characters of a prompt in the list; `--json` has all. */
const SHOWN_PROMPT = 60;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Throws `usage_invalid`. */
function timesOf(
  text: readonly string[],
  { at, every, tz }: JobAddOptions,
): { times: JobTimes; prompt: string } {
  const zone = tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (at !== undefined && every !== undefined) throw usageError("Give either --at or --every, not both.");
  if (at !== undefined) return { times: { kind: "at", at: timeInZone(at, zone) }, prompt: text.join(" ") };
  if (every !== undefined) {
    const [, count, unit = ""] = /^(\d+)([smhd])$/.exec(every) ?? [];
    if (count === undefined)
      throw usageError(`--every ${JSON.stringify(every)} is not a duration; give one such as 30m, 6h or 1d.`);
    const everyMs = Number(count) * (UNITS[unit] ?? 0);
    return { times: { kind: "every", everyMs, from: Date.now() }, prompt: text.join(" ") };
  }
  const [expression = "", ...words] = text;
  return { times: { kind: "cron", expression, tz: zone }, prompt: words.join(" ") };
}

/** Throws `usage_invalid`. */
function checkOf({ checkFile, checkCommand }: JobAddOptions, cwd: string): JobCheck | undefined {
  if (checkFile !== undefined && checkCommand !== undefined)
    throw usageError("Give either --check-file or --check-command, not both.");
  if (checkFile !== undefined) return { kind: "file", path: resolve(cwd, checkFile) };
  return checkCommand === undefined ? undefined : { kind: "command", command: checkCommand };
}

/** A job runs later, when its mistakes have no reader. Throws `usage_invalid`, `config_invalid`, `model_unknown`. */
async function assertUsable(cli: Cli, { agent, model, session, tz }: JobAddOptions): Promise<void> {
  assertSessionKey(session);
  agentSettings(loadConfig({ home: resolveHome(cli.env) }).config, agent);
  if (tz !== undefined) timeInZone("2026-01-01T00:00", tz);
  if (model === undefined) return;
  const { modelChecks } = await import("../chat/model-checks.ts");
  const { problem } = await modelChecks(cli.env, agent).check(model);
  if (problem !== undefined) throw new PagurusError("model_unknown", problem);
}

/** `pagurus jobs add`. Throws `usage_invalid`, `session_key_invalid`. */
export async function jobAdd(cli: Cli, text: string[], options: JobAddOptions): Promise<number> {
  const { times, prompt } = timesOf(text, options);
  if (prompt.trim() === "")
    throw usageError("The job has no prompt; give it after the times, as in pagurus jobs add --help.");
  const { model, session, agent, missed } = options;
  await assertUsable(cli, options);
  const job = await withRecords(cli, ({ jobs }) =>
    jobs.add({
      agentId: agent,
      sessionKey: session,
      times,
      missed: missed ?? (times.kind === "at" ? "once" : "skip"),
      request: { prompt, cwd: cli.cwd, ...defined({ model }) },
      check: checkOf(options, cli.cwd),
    }),
  );
  if (options.json === true) printJson(cli, job);
  else printLine(cli.stdout, `The job ${job.id} is due at ${timeOf(job.nextAt)}, while pagurus serve runs.`);
  return EXIT_DONE;
}

function timeOf(at: number | undefined): string {
  return at === undefined ? "-" : `${new Date(at).toISOString().slice(0, 19)}Z`;
}

function ruleOf({ times }: Job): string {
  if (times.kind === "cron") return `${times.expression} (${times.tz})`;
  return times.kind === "at" ? "once" : `every ${times.everyMs / 1_000} s`;
}

function nextOf({ isElsewhere, isPaused, nextAt }: Job): string {
  if (isElsewhere === true) return "in PostgreSQL";
  return isPaused ? "paused" : timeOf(nextAt);
}

/** `pagurus jobs list`. */
export async function jobList(cli: Cli, { json }: { json?: boolean }): Promise<number> {
  const jobs = await withRecords(cli, (records) => records.jobs.list());
  if (json === true) printJson(cli, jobs);
  else if (jobs.length === 0)
    printLine(cli.stdout, "There are no jobs; pagurus jobs add --help shows how to make one.");
  else {
    const rows = jobs.map((job) => [
      job.id,
      job.sessionKey,
      ruleOf(job),
      nextOf(job),
      job.lastOutcome === undefined ? "never" : `${timeOf(job.lastAt)} ${job.lastOutcome}`,
      oneLine(job.request.prompt, SHOWN_PROMPT),
    ]);
    for (const line of table(["ID", "SESSION", "TIMES", "NEXT", "LAST", "PROMPT"], rows))
      printLine(cli.stdout, line);
  }
  return EXIT_DONE;
}

/** `pagurus jobs remove|pause|resume|run`. Throws `job_not_found`. */
export async function jobChange(
  cli: Cli,
  action: "remove" | "pause" | "resume" | "run",
  id: string,
): Promise<number> {
  await withRecords(cli, async ({ jobs }) => {
    await (action === "run" ? jobs.runNow(id) : jobs[action](id));
  });
  const done = {
    remove: "is removed",
    pause: "is paused",
    resume: "continues",
    run: "runs now, or when pagurus serve starts",
  };
  printLine(cli.stdout, `The job ${id} ${done[action]}.`);
  return EXIT_DONE;
}
