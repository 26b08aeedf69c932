/** `pagurus migrate openclaw`: a home of OpenClaw, which is only read, as one of ours. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { homedir } from "node:os";
import { PagurusError } from "../../contract/errors.ts";
import { parseJson5 } from "../../config/json5.ts";
import { valueAt } from "../../config/key-path.ts";
import { readConfigText } from "../../config/load.ts";
import { agentDir, configFile, expandPath } from "../../config/paths.ts";
import { recordOf } from "../../config/record.ts";
import {
  takeOpenClaw,
  type MigratedConversation,
  type TakeOptions,
} from "../../session/foreign/openclaw/take.ts";
import { lcmFileOf, migrateConfig, type MigratedConfig } from "./migrate-config.ts";

/** Homes and their configuration under OpenClaw's name and its earlier ones, newest first. */
const HOMES = [".openclaw", ".moltbot", ".moldbot", ".clawdbot"];
const CONFIGS = ["openclaw.json", "moltbot.json", "moldbot.json", "clawdbot.json"];
/** One of them is in every home. */
const TRACES = [...CONFIGS, "agents", "sessions", "lcm.db"];

export interface MigrationRequest {
  /** OpenClaw's home; absent: `OPENCLAW_STATE_DIR`, else `~/.openclaw` (or under an earlier name). */
  from?: string | undefined;
  /** What a relative `from` begins at. */
  cwd: string;
  /** Our home. */
  home: string;
  env: Record<string, string | undefined>;
  dryRun: boolean;
  overwrite: boolean;
  now?: () => Date;
  /** Is told the configuration before the conversations are begun. */
  begun?: (report: Migration) => void;
  told?: TakeOptions["told"];
  stopped?: TakeOptions["stopped"];
}

export interface Migration {
  /** OpenClaw's home. */
  source: string;
  home: string;
  dryRun: boolean;
  config: MigratedConfig;
  conversations: MigratedConversation[];
  /** What cannot be read beside single conversations; a sentence each. */
  problems: string[];
  /** What is left out on purpose; a sentence each. */
  leftOut: string[];
  /** What is to be done yet; a sentence each. */
  notes: string[];
  /** Stopped before its end; another run goes on. */
  stopped: boolean;
}

/**
 * The configuration first, then each conversation by itself. A second run takes what is new since. Throws
 * `usage_invalid` where there is no home of OpenClaw, `store_write_failed`.
 */
export async function migrateOpenClaw(request: MigrationRequest): Promise<Migration> {
  const { env, home, dryRun, overwrite } = request;
  const now = request.now ?? ((): Date => new Date());
  const source = sourceOf(request);
  // Named by itself only where the home is not.
  const named = request.from === undefined ? env["OPENCLAW_CONFIG_PATH"] : undefined;
  const file = named ? expandPath(named, request.cwd) : join(source, firstIn(source, CONFIGS));
  const config = migrateConfig({ source: file, home, dryRun, overwrite, now });
  const report: Migration = {
    source,
    home,
    dryRun,
    config,
    conversations: [],
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
    ...(request.told ? { told: request.told } : {}),
    ...(request.stopped ? { stopped: request.stopped } : {}),
  });
  const missing =
    lcm.named && !existsSync(lcm.file)
      ? [`There is no ${lcm.file}, where the settings of lossless-claw say its database is.`]
      : [];
  const agents = agentsIn([configFile(home), ...(dryRun && config.state !== "failed" ? [file] : [])]);
  const notes = unlisted(taken.conversations, agents);
  return { ...report, ...taken, problems: [...taken.problems, ...missing], notes };
}

/** Ids of the agents that files name, and the one that there always is. */
function agentsIn(files: readonly string[]): ReadonlySet<string> {
  const ids = new Set(["main"]);
  for (const file of files) {
    try {
      const list = valueAt(parseJson5(readConfigText(file) ?? "", file), ["agents", "list"]);
      for (const agent of Array.isArray(list) ? (list as unknown[]) : [])
        ids.add(String(recordOf(agent)["id"]).toLowerCase());
    } catch {
      // What is wrong with it is told where the configuration is taken.
    }
  }
  return ids;
}

/** Conversations of an agent that no configuration names are here, and nobody can open them yet. */
function unlisted(conversations: readonly MigratedConversation[], agents: ReadonlySet<string>): string[] {
  const ids = conversations.flatMap(({ agentId, state }) =>
    (state === "taken" || state === "here") && !agents.has(agentId.toLowerCase()) ? agentId : [],
  );
  return [...new Set(ids)].map(
    (id) =>
      `The agent ${id} has conversations and is not in agents.list; put {id: ${JSON.stringify(id)}} into that list of pagurus.json to open them.`,
  );
}

function homeOf(user: string): string {
  return join(user, firstIn(user, HOMES));
}

/** The first name that is in a folder; the first of all where none is. */
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
