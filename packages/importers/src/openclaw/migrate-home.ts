/** `pagurus migrate openclaw`: converts a home of OpenClaw, which is only read, to ours. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { homedir } from "node:os";
import { PagurusError } from "@pagurus/contract/errors";
import { parseJson5 } from "@pagurus/core/config/json5";
import { valueAt } from "@pagurus/core/config/key-path";
import { readConfigText } from "@pagurus/core/config/load-config";
import { agentDir, configFile, expandPath } from "@pagurus/core/config/config-paths";
import { attempt } from "@pagurus/core/data/attempt";
import { recordOf, recordsOf } from "@pagurus/core/data/record-fields";
import { takeOpenClaw, type MigratedConversation, type TakeOptions } from "./sessions/take.ts";
import { lcmFileOf, migrateConfig, type MigratedConfig } from "./config/migrate-config.ts";
import { takeJobs, type JobPlace, type MigratedJob } from "./jobs/take-jobs.ts";
import { defined } from "@pagurus/core/data/defined";

/** Folder names of homes and their configuration, OpenClaw's current one and earlier ones, newest first. */
const HOMES = [".openclaw", ".moltbot", ".moldbot", ".clawdbot"];
const CONFIGS = ["openclaw.json", "moltbot.json", "moldbot.json", "clawdbot.json"];
/** Every home has one of these. */
const TRACES = [...CONFIGS, "agents", "sessions", "lcm.db"];

export interface MigrationRequest {
  /** OpenClaw's home; absent: `OPENCLAW_STATE_DIR`, else `~/.openclaw` (or under an earlier name). */
  from?: string | undefined;
  /** Base of a relative `from`. */
  cwd: string;
  /** Our home. */
  home: string;
  env: Record<string, string | undefined>;
  dryRun: boolean;
  overwrite: boolean;
  now?: () => Date;
  /** Called with the report of the configuration before the conversations start. */
  begun?: (report: Migration) => void;
  onConversation?: TakeOptions["onConversation"];
  stopped?: TakeOptions["stopped"];
  /** Runs the work with the jobs of our home; absent in a dry run of a home without any. */
  withJobs?: ((work: (jobs: JobPlace) => Promise<void>) => Promise<void>) | undefined;
}

export interface Migration {
  /** OpenClaw's home. */
  source: string;
  home: string;
  dryRun: boolean;
  config: MigratedConfig;
  conversations: MigratedConversation[];
  jobs: MigratedJob[];
  /** Unreadable parts besides single conversations; a sentence each. */
  problems: string[];
  /** Parts left out on purpose; a sentence each. */
  leftOut: string[];
  /** Remaining steps for the user; a sentence each. */
  notes: string[];
  /** Stopped before its end; another run continues. */
  stopped: boolean;
}

/**
 * The configuration first, then each conversation separately. A second run takes what is new since. Throws `usage_invalid`
 * where there is no home of OpenClaw, `store_write_failed`.
 */
export async function migrateOpenClaw(request: MigrationRequest): Promise<Migration> {
  const { env, home, dryRun, overwrite } = request;
  const now = request.now ?? ((): Date => new Date());
  const source = sourceOf(request);
  // Used only if the home is not named.
  const named = request.from === undefined ? env["OPENCLAW_CONFIG_PATH"] : undefined;
  const file = named ? expandPath(named, request.cwd) : join(source, firstIn(source, CONFIGS));
  const config = migrateConfig({ source: file, home, dryRun, overwrite, now });
  const report: Migration = {
    source,
    home,
    dryRun,
    config,
    conversations: [],
    jobs: [],
    problems: [],
    leftOut: [],
    notes: [],
    stopped: false,
  };
  request.begun?.(report);
  const lcm = lcmFileOf(file, source, request.from === undefined ? env : {});
  const taken = await takeOpenClaw({
    folder: source,
    lcmFile: lcm.file,
    agentDir: (agentId) => agentDir(home, agentId),
    dryRun,
    now: () => now().getTime(),
    ...defined({ onConversation: request.onConversation, stopped: request.stopped }),
  });
  const missing =
    lcm.named && !existsSync(lcm.file)
      ? [`There is no ${lcm.file}, which the settings of lossless-claw name as its database.`]
      : [];
  const scheduled = taken.stopped
    ? { jobs: [], problems: [] }
    : await takeJobs({
        folder: source,
        config: attempt(() => parseJson5(readConfigText(file) ?? "{}", file)),
        now: now().getTime(),
        withJobs: request.withJobs,
        home,
        dryRun,
      });
  const agents = agentsIn([configFile(home), ...(dryRun && config.state !== "failed" ? [file] : [])]);
  const notes = [
    ...unlisted([...taken.conversations, ...scheduled.jobs], agents),
    ...running(scheduled.jobs),
  ];
  const problems = [...taken.problems, ...missing, ...scheduled.problems];
  return { ...report, ...taken, jobs: scheduled.jobs, problems, notes };
}

/** A job runs in both programs until one of them stops. */
function running(jobs: readonly MigratedJob[]): string[] {
  const count = jobs.filter(({ state }) => state === "taken").length;
  if (count === 0) return [];
  const name = count === 1 ? "The job runs" : `The ${count} jobs run`;
  return [
    `${name} while pagurus serve runs, and in OpenClaw while its gateway does: switch them off in one of both (openclaw automations disable <id>, or pagurus jobs pause <id>).`,
  ];
}

/** Ids of the agents in the file names, and the default one. */
function agentsIn(files: readonly string[]): ReadonlySet<string> {
  const ids = new Set(["main"]);
  for (const file of files) {
    // The conversion of the configuration reports its problems.
    const agents = attempt(() => valueAt(parseJson5(readConfigText(file) ?? "", file), ["agents"]));
    const { list, entries } = recordOf(agents);
    for (const { id } of recordsOf(list)) ids.add(String(id).toLowerCase());
    // Newer versions have them by id.
    for (const id of Object.keys(recordOf(entries))) ids.add(id.toLowerCase());
  }
  return ids;
}

/** Agents that no configuration lists, so their conversations cannot be opened yet, and their jobs fail. */
function unlisted(
  parts: readonly Pick<MigratedConversation | MigratedJob, "agentId" | "state">[],
  agents: ReadonlySet<string>,
): string[] {
  const ids = parts.flatMap(({ agentId, state }) =>
    state !== "empty" && state !== "failed" && state !== "left" && !agents.has(agentId.toLowerCase())
      ? agentId
      : [],
  );
  return [...new Set(ids)].map(
    (id) =>
      `The agent ${id} has conversations or jobs and is not in agents.list; put {id: ${JSON.stringify(id)}} into that list of pagurus.json to open them.`,
  );
}

function homeOf(user: string): string {
  return join(user, firstIn(user, HOMES));
}

/** The first name that exists in a folder; the first of all where none does. */
function firstIn(folder: string, names: readonly string[]): string {
  return names.find((name) => existsSync(join(folder, name))) ?? names[0] ?? "";
}

function sourceOf({ from, cwd, env, home }: MigrationRequest): string {
  const state = env["OPENCLAW_STATE_DIR"];
  const source =
    from === undefined
      ? state
        ? expandPath(state, cwd)
        : homeOf(env["HOME"] ?? homedir())
      : expandPath(from, cwd);
  if (!existsSync(source) || !statSync(source).isDirectory())
    throw new PagurusError(
      "usage_invalid",
      `There is no folder ${source}; name the home of OpenClaw with --from <folder>.`,
      { details: { folder: source } },
    );
  if (!TRACES.some((name) => existsSync(join(source, name))))
    throw new PagurusError(
      "usage_invalid",
      `${source} holds nothing of OpenClaw (openclaw.json, agents, sessions, lcm.db); name its home with --from <folder>.`,
      { details: { folder: source } },
    );
  if (resolve(source) === resolve(home))
    throw new PagurusError("usage_invalid", `${source} is the home of Pagurus; name OpenClaw's with --from.`);
  return source;
}
