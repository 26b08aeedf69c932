/** Points the user's own Claude Code to the model gateway by its environment, without writing to its settings. */
import { randomUUID } from "node:crypto";
import { basename, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRefusal,
  WrapRequest,
  WrapRoute,
  WrapTools,
} from "@pagurus/contract/harness/wrap";
import { recordOf } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { freeName } from "@pagurus/core/native/free-name";
import { findClaude } from "./find-claude.ts";
import {
  modelsSet,
  readUserSettings,
  settingsVariable,
  usesSubscription,
  type UserSettings,
} from "./claude-wrap-settings.ts";
import { defined } from "@pagurus/core/data/defined";

const ANTHROPIC_ADDRESS = "https://api.anthropic.com";
const LONG_WINDOW = 1_000_000;
/** Claude Code accepts a configured window of at least `least` tokens, and of at most the model's. */
const WINDOWS = { least: 100_000, model: 200_000 };
/**
 * Claude Code compacts by itself 33,000 tokens before the end of its window (measured). The engine compacts first, also when
 * the results of a round are long; in a smaller window than Claude Code's it does so anyway.
 */
const SPARE = { most: 20_000, from: 80_000 };

/** Commands of Claude Code without a conversation in this terminal. */
const COMMANDS: ReadonlySet<string> = new Set(
  "agents attach auth auto-mode doctor gateway import install logs mcp plugin plugins purge respawn rm setup-token stop kill ultrareview update upgrade".split(
    " ",
  ),
);
/** Options that continue an earlier conversation. */
const RESUMES = /^(?:-c|-r|--continue|--resume|--teleport)(?:=|$)/;
const ELSEWHERE = ["--bg", "--background", "--cloud", "--desktop", "--environment"];
/** Other clouds, which have other protocols. */
const CLOUDS = {
  CLAUDE_CODE_USE_BEDROCK: "Amazon Bedrock",
  CLAUDE_CODE_USE_VERTEX: "Google Vertex AI",
  CLAUDE_CODE_USE_FOUNDRY: "Microsoft Foundry",
} as const;

export const claudeWrap: ProgramWrap = {
  id: "claude",
  label: "Claude Code",
  api: "anthropic-messages",
  survey: async (request) => survey(request),
};

function survey(request: WrapRequest): WrappedProgram {
  const { command, args, env, cwd } = request;
  checkArguments(args);
  const found = findClaude(basename(command) === command ? { env } : { env, command });
  if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
  const settings = readUserSettings(request);
  const refusal = refusalOf(settings, args);
  const models = modelsSet(settings, args);
  const contextWindow = windowOf(settings, models);
  const address = (settings.variable("ANTHROPIC_BASE_URL") ?? ANTHROPIC_ADDRESS).replace(/\/+$/, "");
  return {
    provider: {
      id: "anthropic",
      baseUrl: `${address}/v1`,
      from: settings.originOf("ANTHROPIC_BASE_URL") ?? "built-in",
      ...(env["ANTHROPIC_API_KEY"] ? { keyEnv: "ANTHROPIC_API_KEY" } : {}),
    },
    cwd,
    folderTrusted: settings.folderTrusted,
    ...(settings.withheld.length > 0 ? { withheld: settings.withheld } : {}),
    models: models.map((name) => name.replace(/\[1m\]$/i, "")),
    ...defined({ contextWindow }),
    spareTokens: (window) => Math.max(0, Math.min(SPARE.most, window - SPARE.from)),
    ...defined({ refusal }),
    resumes: args.some((arg) => RESUMES.test(arg)),
    launch: async (route) => launch({ ...request, command: found.command }, settings, route),
  };
}

/** The user's setting of the window, tokens. */
function windowOf({ variable }: UserSettings, models: readonly string[]): number | undefined {
  const long = models.some((name) => /\[1m\]$/i.test(name)) ? LONG_WINDOW : undefined;
  const [, digits, thousands] = /^(\d+)(k?)$/i.exec(variable("CLAUDE_CODE_AUTO_COMPACT_WINDOW") ?? "") ?? [];
  if (digits === undefined) return long;
  const set = Number(digits) * (thousands === "" ? 1 : 1_000);
  return Math.min(Math.max(set, WINDOWS.least), long ?? WINDOWS.model);
}

function checkArguments(args: readonly string[]): void {
  const [first = ""] = args;
  const elsewhere = args.find((arg) => ELSEWHERE.some((name) => arg === name || arg.startsWith(`${name}=`)));
  if (!COMMANDS.has(first) && elsewhere === undefined) return;
  throw new PagurusError(
    "usage_invalid",
    `\`claude ${elsewhere ?? first}\` has no conversation in this terminal to follow; run it without pagurus wire.`,
  );
}

function refusalOf(settings: UserSettings, args: readonly string[]): WrapRefusal | undefined {
  const { variable, managed } = settings;
  const cloud = Object.entries(CLOUDS).find(([name]) => isOn(variable(name)));
  if (cloud)
    return {
      kind: "place",
      reason: `Claude Code is set to ${cloud[1]} (${cloud[0]}), whose requests are not governed yet; unset it to use an API key, or run claude without pagurus wire.`,
    };
  if (settingsVariable([managed], "ANTHROPIC_BASE_URL") !== undefined)
    return {
      kind: "place",
      reason:
        "The managed settings of this machine set the address of Claude Code's requests (ANTHROPIC_BASE_URL), so they cannot pass the gateway; run claude without pagurus wire.",
    };
  if (!usesSubscription(settings, args)) return undefined;
  return {
    kind: "login",
    login: "anthropic",
    reason:
      "Claude Code is logged in by subscription, whose terms allow it to Claude Code alone; set ANTHROPIC_API_KEY to have its conversation governed, pass --login (or set wire.ownLogin) if your terms allow this, or pass --observe to let it pass unchanged.",
  };
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && !/^(?:|0|false|no|off)$/i.test(value);
}

/** Settings override the environment, so variables that are also in the settings are repeated in a file of settings. */
function launch(
  { command, args, env, folder }: WrapRequest,
  settings: UserSettings,
  route: WrapRoute,
): WrapLaunch {
  const own = variablesFor(settings, route);
  const names = Object.keys(own);
  const isSet = names.some((name) => settingsVariable(settings.allLayers, name) !== undefined);
  const asked = withoutFolder(args, settings);
  const tools = route.tools && !settings.hasManagedServers ? toolArguments(route.tools, settings) : [];
  const launched = { command, args: [...tools, ...asked, ...args], env: { ...env, ...own } };
  if (!isSet) return launched;
  ensurePrivateDir(folder);
  const file = join(folder, `wire-${randomUUID()}.json`);
  const { fromArguments } = settings;
  writeFileAtomic(
    file,
    JSON.stringify({ ...fromArguments, env: { ...recordOf(fromArguments["env"]), ...own } }),
    {
      synced: false,
    },
  );
  return { ...launched, args: [...tools, ...asked, ...withSettings(args, file)], files: [file] };
}

/**
 * With `-p` Claude Code asks no question about the folder and runs its hooks and helpers (measured with 2.1.330). So the settings of a
 * folder that it does not trust are left out there; the user's own choice of sources stays.
 */
function withoutFolder(args: readonly string[], { folderTrusted, withheld }: UserSettings): string[] {
  const end = args.indexOf("--");
  const options = end < 0 ? args : args.slice(0, end);
  const prints = options.includes("-p") || options.includes("--print");
  const chosen = options.some((arg) => /^--setting-sources(?:=|$)/.test(arg));
  return prints && !chosen && !folderTrusted && withheld.length > 0 ? ["--setting-sources=user"] : [];
}

/**
 * Adds to the user's own servers. The host's hooks and rules see each call, so the program need not prompt its user, too.
 * Both options accept any number of values, and only one after a `=`.
 */
function toolArguments({ name, command, args, env }: WrapTools, { servers }: UserSettings): string[] {
  const free = freeName(name, servers);
  const mcpServers = { [free]: { type: "stdio", command, args, env } };
  return [`--mcp-config=${JSON.stringify({ mcpServers })}`, `--allowedTools=mcp__${free}`];
}

/**
 * Its own compaction stays on, and the engine answers it: with compaction disabled it refuses to send requests once the
 * reported usage approaches its own idea of the window.
 */
function variablesFor(
  { variable }: UserSettings,
  { baseUrl, headers, answersAll }: WrapRoute,
): Record<string, string> {
  const theirs = variable("ANTHROPIC_CUSTOM_HEADERS");
  const ours = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const needsKey = answersAll && variable("ANTHROPIC_API_KEY") === undefined;
  return {
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_CUSTOM_HEADERS: [...(theirs === undefined ? [] : [theirs.trimEnd()]), ...ours].join("\n"),
    ...(needsKey ? { ANTHROPIC_AUTH_TOKEN: "answered-by-pagurus" } : {}),
  };
}

/** Replaces the user's own `--settings`, which the file includes. */
function withSettings(args: readonly string[], file: string): string[] {
  const end = args.indexOf("--");
  const until = end < 0 ? args.length : end;
  const kept: string[] = [];
  for (let at = 0; at < until; at++) {
    const arg = args[at] ?? "";
    if (arg === "--settings") at += 1;
    else if (!arg.startsWith("--settings=")) kept.push(arg);
  }
  return ["--settings", file, ...kept, ...args.slice(until)];
}
