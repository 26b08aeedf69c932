/** `pagurus migrate openclaw`: a home of OpenClaw, which is only read, as one of ours. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { homedir } from "node:os";
import { PagurusError } from "../../contract/errors.ts";
import { agentDir, expandPath } from "../../config/paths.ts";
import {
  takeOpenClaw,
  type MigratedConversation,
  type TakeOptions,
} from "../../session/foreign/openclaw/take.ts";
import { lcmFileOf, migrateConfig, type MigratedConfig } from "./migrate-config.ts";

/** One of them is in every home. */
const TRACES = ["openclaw.json", "agents", "sessions", "lcm.db"];

export interface MigrationRequest {
  /** OpenClaw's home; absent: `OPENCLAW_STATE_DIR`, else `~/.openclaw`. */
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
  const file = named ? expandPath(named, request.cwd) : join(source, "openclaw.json");
  const config = migrateConfig({ source: file, home, dryRun, overwrite, now });
  const report: Migration = {
    source,
    home,
    dryRun,
    config,
    conversations: [],
    problems: [],
    leftOut: [],
    stopped: false,
  };
  request.begun?.(report);
  const taken = await takeOpenClaw({
    folder: source,
    lcmFile: lcmFileOf(file, source, request.from === undefined ? env : {}),
    agentDir: (agentId) => agentDir(home, agentId),
    dryRun,
    now: () => now().getTime(),
    ...(request.told ? { told: request.told } : {}),
    ...(request.stopped ? { stopped: request.stopped } : {}),
  });
  return { ...report, ...taken };
}

function sourceOf({ from, cwd, env, home }: MigrationRequest): string {
  const state = env["OPENCLAW_STATE_DIR"];
  const source =
    from === undefined
      ? state
        ? expandPath(state, cwd)
        : join(env["HOME"] ?? homedir(), ".openclaw")
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
      `${source} holds nothing of OpenClaw (${TRACES.join(", ")}); name its home with --from <folder>.`,
      { details: { folder: source } },
    );
  if (resolve(source) === resolve(home))
    throw new PagurusError("usage_invalid", `${source} is the home of Pagurus; name OpenClaw's with --from.`);
  return source;
}
