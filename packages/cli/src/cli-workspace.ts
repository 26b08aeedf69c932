/** The folder that a command works in. */
import { existsSync, statSync, type Stats } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { agentSettings, DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { isRepository } from "@pagurus/core/platform/repository";
import { type Cli, printLine } from "./cli.ts";
import { usageError } from "./cli-failure.ts";

/**
 * The workspace folder as an absolute path: `--cwd`, else the current folder if it is part of a project, else the agent's
 * configured `workspace`, else the current folder. Throws `usage_invalid` when `--cwd` is not a folder.
 */
export function workspace(cli: Cli, option: string | undefined, agentId = DEFAULT_AGENT_ID): string {
  if (option === undefined) return configured(cli, agentId) ?? cli.cwd;
  const cwd = resolve(cli.cwd, option);
  const stat = statOf(cwd);
  if (stat?.isDirectory()) return cwd;
  const what = stat ? "is a file, not a folder" : "does not exist";
  throw usageError(`The folder "${option}" ${what}; name an existing folder.`);
}

/** `agents.list[].workspace`, else `agents.defaults.workspace`; undefined where the current folder takes precedence. */
function configured(cli: Cli, agentId: string): string | undefined {
  const folder = settingOf(cli, agentId);
  if (folder === undefined || isProject(cli.cwd)) return undefined;
  if (statOf(folder)?.isDirectory()) return folder;
  printLine(cli.stderr, `note: the configured workspace ${folder} does not exist; working in ${cli.cwd}`);
  return undefined;
}

function settingOf(cli: Cli, agentId: string): string | undefined {
  try {
    return agentSettings(loadConfig({ home: resolveHome(cli.env) }).config, agentId).workspace;
  } catch {
    // The host that is opened next reports a broken configuration or unknown agent.
    return undefined;
  }
}

/** Files that mark a folder, or one above it, as a project. */
const MARKS = ["AGENTS.md", "CLAUDE.md"];

function isProject(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (isRepository(at) || MARKS.some((name) => existsSync(join(at, name)))) return true;
    if (dirname(at) === at) return false;
  }
}

/** Undefined where nothing is there, or nothing readable. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    // A part of the path is missing, is a file, or is not accessible.
    return undefined;
  }
}
