/** What the programs of this folder share: finding the executable, reading arguments and settings, and where each provider is. */
import { randomUUID } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { parseEnv } from "node:util";
import { PagurusError } from "@pagurus/contract/errors";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { SettingOrigin } from "@pagurus/contract/harness/wrap-origin";
import type {
  WrappedProgram,
  WrapRefusal,
  WrapRequest,
  WrapRoute,
  WrapTools,
} from "@pagurus/contract/harness/wrap";
import { parseJson5 } from "@pagurus/core/config/json5";
import { attempt } from "@pagurus/core/data/attempt";
import { type Fields, filledString, isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { freeName } from "@pagurus/core/native/free-name";
import { namedProgram, passedOverText } from "@pagurus/core/platform/executables";
import { processIsAlive } from "@pagurus/core/platform/process-group";
import { realPath } from "@pagurus/core/platform/real-path";
import { readRegularFile } from "@pagurus/core/platform/regular-file";
import type { ProjectFiles } from "./project-files.ts";
import { defined } from "@pagurus/core/data/defined";

/** Where each protocol's own provider is, and the variable that its key is usually in. */
export const PROVIDERS: Readonly<Record<WireApi, { id: string; baseUrl: string; keyEnv: string }>> = {
  "openai-responses": { id: "openai", baseUrl: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY" },
  "openai-completions": { id: "openai", baseUrl: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY" },
  "anthropic-messages": {
    id: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    keyEnv: "ANTHROPIC_API_KEY",
  },
  "google-generative-ai": {
    id: "google",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyEnv: "GEMINI_API_KEY",
  },
};

/** Key of a program whose requests a model of ours answers, for programs that do not start without one. */
export const NO_KEY = "answered-by-pagurus";

/** The value of a table's own key. */
export function entryOf<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** An address with the protocol's version at the end of its path, and its query kept. */
export function versioned(address: string, api: WireApi): string {
  const url = URL.parse(address);
  if (!url) return address;
  const path = url.pathname.replace(/\/+$/, "");
  // Clients of OpenAI's protocols are configured with the version.
  const version = { "anthropic-messages": "/v1", "google-generative-ai": "/v1beta" }[api as string];
  url.pathname = version === undefined || /\/v\d+\w*$/.test(path) ? path : `${path}${version}`;
  return url.pathname === "/" && url.search === "" ? url.origin : url.href;
}

/**
 * Writes a file that the program reads in this run, for its user alone; returns its path. Files of runs whose process is gone, such as a
 * killed one, are removed. Throws `store_write_failed`.
 */
export function runFile(folder: string, extension: string, content: string): string {
  ensurePrivateDir(folder);
  for (const name of readdirSync(folder)) {
    const [, pid] = /^wire-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !processIsAlive(Number(pid))) rmSync(join(folder, name), { force: true });
  }
  const file = join(folder, `wire-${process.pid}-${randomUUID()}.${extension}`);
  writeFileAtomic(file, content, { synced: false });
  return file;
}

/** Path of the executable. Throws `runtime_failed` with how to install it. */
export function findExecutable({ command, env, cwd }: WrapRequest, install?: string): string {
  const { file, passedOver } = namedProgram(command, { env, workspaces: [cwd] });
  if (file !== undefined) return file;
  const remedy =
    install === undefined
      ? "check its name or give its path"
      : `install it with \`${install}\`, or give its path`;
  throw new PagurusError(
    "runtime_failed",
    `The program "${command}" was not found${passedOverText(passedOver, "the command")}; ${remedy}.`,
    {
      details: { command },
    },
  );
}

/** The arguments without an option and its value. */
export function withoutOption(args: readonly string[], name: string): string[] {
  const end = args.indexOf("--");
  return args.filter((arg, at) => {
    if (end >= 0 && at >= end) return true;
    return arg !== name && !arg.startsWith(`${name}=`) && args[at - 1] !== name;
  });
}

/** Whether one of the options is there, with or without a value. */
export function hasOption(args: readonly string[], ...names: string[]): boolean {
  const end = args.indexOf("--");
  return args
    .slice(0, end < 0 ? args.length : end)
    .some((arg) => names.some((name) => arg === name || arg.startsWith(`${name}=`)));
}

/** Throws `usage_invalid` for a command of the program that has no conversation in this terminal. */
export function checkCommand({ command, args }: WrapRequest, commands: readonly string[]): void {
  const [first = ""] = args;
  if (!commands.includes(first)) return;
  throw new PagurusError(
    "usage_invalid",
    `\`${basename(command)} ${first}\` has no conversation in this terminal to follow; run it without pagurus wire.`,
  );
}

/** A settings file of the user, with comments; empty if it is missing or no object. */
export function readSettings(file: string): Fields {
  return settingsIn(
    attempt(() => readRegularFile(file)),
    file,
  );
}

/** The same for a file of the folder; empty until the folder is trusted. */
export function readProjectSettings(files: ProjectFiles, file: string): Fields {
  return settingsIn(files.text(file), file);
}

/** The program reports its own file better than we could. */
function settingsIn(text: string | undefined, file: string): Fields {
  if (text === undefined) return {};
  return attempt(() => recordOf(parseJson5(text, file))) ?? {};
}

/** Settings with where they were made. */
export interface Layer {
  from: SettingOrigin;
  fields: Fields;
}

/** Origin of a setting in layers of which the last is on top; `path` names its fields, for example `["env", "URL"]`. */
export function originOf(layers: readonly Layer[], path: readonly string[]): SettingOrigin | undefined {
  return layers.findLast(({ fields }) => filledString(valueIn(fields, path)) !== undefined)?.from;
}

function valueIn(fields: Fields, path: readonly string[]): unknown {
  const [name = "", ...rest] = path;
  return rest.length === 0 ? fields[name] : valueIn(recordOf(fields[name]), rest);
}

/**
 * The variables as a program sees them that reads the nearest `.env` file: in `folder` (`.qwen`) or beside it, from the working folder
 * up, else in the home. `settings` are below them, the process's variables on top.
 */
export function variableLayers(
  { env, cwd }: WrapRequest,
  folder: string,
  files: ProjectFiles,
  settings: readonly Layer[] = [],
): Layer[] {
  const home = env["HOME"] || homedir();
  const places: string[] = [];
  for (let at = cwd; at !== home; at = dirname(at)) {
    places.push(at);
    if (dirname(at) === at) break;
  }
  const namesIn = (at: string): string[] => [join(at, folder, ".env"), join(at, ".env")];
  const found = places
    .flatMap(namesIn)
    .map((file) => files.text(file))
    .find(isNonEmptyText);
  const own = namesIn(home)
    .map((file) => attempt(() => readRegularFile(file)))
    .find(isNonEmptyText);
  const text = found ?? own;
  const inFile: Layer = { from: found === undefined ? "user" : "project", fields: parseEnv(text ?? "") };
  return [...settings, inFile, { from: "environment", fields: env }];
}

function isNonEmptyText(text: string | undefined): boolean {
  return text !== undefined;
}

/** Layers of variables as one environment. */
export function environmentOf(layers: readonly Layer[]): WrapRequest["env"] {
  const entries = layers.flatMap(({ fields }) =>
    Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  return Object.fromEntries(entries);
}

/** Facts about the folder for `WrappedProgram`. `own`: the program has a record of its own. */
export function folderFacts({
  withheld,
  ownTrust,
}: ProjectFiles): Pick<WrappedProgram, "folderTrusted" | "withheld"> {
  return { ...defined({ folderTrusted: ownTrust }), ...(withheld.length > 0 ? { withheld } : {}) };
}

/**
 * Whether a folder is trusted by the rules of Gemini CLI and its forks, `{"/home/ann/app": "TRUST_FOLDER"}`: the longest path that
 * contains it decides, and none does not.
 */
export function trustedByRules(rules: Fields, cwd: string): boolean {
  const folder = realPath(cwd);
  const matching = Object.entries(rules).filter(([path, level]) => {
    const way = relative(realPath(level === "TRUST_PARENT" ? dirname(path) : path), folder);
    return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
  });
  const [nearest] = matching.toSorted(([one], [other]) => other.length - one.length);
  return nearest?.[1] === "TRUST_FOLDER" || nearest?.[1] === "TRUST_PARENT";
}

/** Settings in a variable. */
export function parseSettings(text: string | undefined): Fields {
  if (text === undefined || text.trim() === "") return {};
  try {
    return recordOf(parseJson5(text, "the environment"));
  } catch {
    return {};
  }
}

/** `over` on top of `under`, record by record; a list is replaced. */
export function mergedSettings(under: Fields, over: Fields): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isRecord(before) && isRecord(value) ? mergedSettings(before, value) : value;
  }
  return merged;
}

/** Settings layers as one, the last on top. */
export function layeredSettings(layers: readonly Fields[]): Fields {
  return layers.reduce<Fields>((under, over) => mergedSettings(under, over), {});
}

/**
 * The engine's tools as an MCP server of Gemini CLI and its forks, under a name that the user's servers leave free. It is trusted: the
 * host's own hooks and rules see each call.
 */
export function trustedServer({ name, command, args, env }: WrapTools, mcpServers: unknown): Fields {
  return {
    [freeName(name, new Set(Object.keys(recordOf(mcpServers))))]: { command, args, env, trust: true },
  };
}

/** A value for the key's variable, if a model of ours answers and the program would not start without a key. */
export function placeholderKey(
  { answersAll }: WrapRoute,
  env: WrapRequest["env"],
  keyEnv: string,
): Record<string, string> {
  return answersAll && !env[keyEnv] ? { [keyEnv]: NO_KEY } : {};
}

/** Refusal of a program that is logged in by subscription at a provider. */
export function subscriptionRefusal(label: string, provider: string): WrapRefusal {
  return {
    kind: "login",
    reason: `${label} is logged in to ${provider} by subscription; use an API key to have its conversation governed, pass --login (or set wire.ownLogin) if its terms allow this, or pass --observe to let it pass unchanged.`,
  };
}

/** The environment without some variables and with others. */
export function changedEnvironment(
  env: WrapRequest["env"],
  set: Readonly<Record<string, string>>,
  without: readonly string[] = [],
): Record<string, string | undefined> {
  const kept = Object.entries(env).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(kept), ...set };
}

/** The variable of the protocol's usual key, if the requests go to its own provider: no other host gets that key. */
export function ownKey(env: WrapRequest["env"], api: WireApi, baseUrl: string): { keyEnv?: string } {
  const own = PROVIDERS[api];
  return URL.parse(baseUrl)?.host === new URL(own.baseUrl).host ? keyInEnvironment(env, own.keyEnv) : {};
}

/** The key's variable, if the environment has it. */
export function keyInEnvironment(env: WrapRequest["env"], ...names: string[]): { keyEnv?: string } {
  const keyEnv = names.find((name) => env[name]);
  return keyEnv === undefined ? {} : { keyEnv };
}
