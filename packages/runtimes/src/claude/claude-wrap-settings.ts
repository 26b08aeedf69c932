/**
 * The user's settings of Claude Code, as far as they decide where requests go and with which credentials. Nothing of it is
 * stored.
 */
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { SettingOrigin } from "@pagurus/contract/harness/wrap-origin";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { attempt } from "@pagurus/core/data/attempt";
import { CLAUDE_STARTS } from "@pagurus/core/native/folder-starts";
import { optionValue } from "@pagurus/core/native/option-value";
import { folderFiles } from "@pagurus/core/platform/folder-files";
import { repositoryRoot } from "@pagurus/core/platform/repository";
import { realPath } from "@pagurus/core/platform/real-path";
import { readRegularFile } from "@pagurus/core/platform/regular-file";

/** Settings of an organisation, which cannot be overridden. */
const MANAGED: Readonly<Record<string, string>> = {
  linux: "/etc/claude-code/managed-settings.json",
  darwin: "/Library/Application Support/ClaudeCode/managed-settings.json",
};

/** Settings with where they were made. */
interface Layer {
  from: SettingOrigin;
  fields: Fields;
}

export interface UserSettings {
  /** All layers that decide something, in order of precedence: those of the folder only if Claude Code trusts it. */
  layers: Fields[];
  /** Those of the folder included, whoever trusts it: a user may trust it while Claude Code runs. */
  allLayers: Fields[];
  /** Claude Code's own record of the folder. */
  folderTrusted: boolean;
  /** Files of the folder that would start a program or allow a call, and are left out. */
  withheld: string[];
  managed: Fields;
  /** Its organisation defines the MCP servers, and it does not start with any other. */
  hasManagedServers: boolean;
  /** Names of the user's MCP servers. */
  servers: ReadonlySet<string>;
  /** Settings of `--settings`. */
  fromArguments: Fields;
  /** Files with the login and the user's answers. */
  credentials: Fields;
  state: Fields;
  /** A variable as Claude Code sees it: settings override the environment. */
  variable(name: string): string | undefined;
  /** Where that value was made. */
  originOf(name: string): SettingOrigin | undefined;
}

export interface SettingsRequest {
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

function read(file: string): Fields {
  try {
    return parsed(readRegularFile(file) ?? "");
  } catch {
    return {};
  }
}

function parsed(json: string): Fields {
  try {
    return recordOf(JSON.parse(json) as unknown);
  } catch {
    return {};
  }
}

function argumentSettings({ args, cwd }: SettingsRequest): Fields {
  const option = optionValue(args, "--settings");
  if (option === undefined) return {};
  return option.trimStart().startsWith("{") ? parsed(option) : read(resolve(cwd, option));
}

/** `managedFile`: settings of an organisation; its MCP servers are in a file next to it. */
export function readUserSettings(
  request: SettingsRequest,
  managedFile = MANAGED[process.platform] ?? "",
): UserSettings {
  const { args, env, cwd } = request;
  const home = env["HOME"] ?? homedir();
  const folder = env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude");
  const sources = optionValue(args, "--setting-sources")
    ?.split(",")
    .map((name) => name.trim());
  const from = (source: string, file: string): Fields =>
    sources === undefined || sources.includes(source) ? read(file) : {};
  const managed = read(managedFile);
  const fromArguments = argumentSettings(request);
  const files = ["local", "project"].map((source) => {
    const file = join(cwd, ".claude", source === "local" ? "settings.local.json" : "settings.json");
    return { file, fields: from(source, file) };
  });
  const state = read(
    env["CLAUDE_CONFIG_DIR"] === undefined ? join(home, ".claude.json") : join(folder, ".claude.json"),
  );
  const folderTrusted = isTrusted(state, request);
  const layersWith = (project: Fields[]): Layer[] => [
    { from: "user", fields: managed },
    { from: "arguments", fields: fromArguments },
    ...project.map((fields): Layer => ({ from: "project", fields })),
    { from: "user", fields: from("user", join(folder, "settings.json")) },
  ];
  const all = layersWith(files.map(({ fields }) => fields));
  const deciding = folderTrusted ? all : layersWith([]);
  const layers = deciding.map(({ fields }) => fields);
  const serverFiles = [state, recordOf(recordOf(state["projects"])[cwd]), read(join(cwd, ".mcp.json"))];
  return {
    layers,
    allLayers: all.map(({ fields }) => fields),
    folderTrusted,
    withheld: folderTrusted ? [] : decidingFiles(request, home),
    managed,
    hasManagedServers: existsSync(join(dirname(managedFile), "managed-mcp.json")),
    servers: new Set(serverFiles.flatMap((each) => Object.keys(recordOf(each["mcpServers"])))),
    fromArguments,
    credentials: read(join(folder, ".credentials.json")),
    state,
    variable: (name) => settingsVariable(layers, name) ?? (env[name] || undefined),
    originOf: (name) => {
      const layer = deciding.find(({ fields }) => settingsVariable([fields], name) !== undefined);
      return layer?.from ?? (env[name] ? "environment" : undefined);
    },
  };
}

/** Texts for the model. Anything else in `.claude` may start a program or allow a call, for example the front matter of an agent. */
const TEXTS: ReadonlySet<string> = new Set(["CLAUDE.md", "rules"]);
const SETTINGS: ReadonlySet<string> = new Set(["settings.json", "settings.local.json"]);

/** Files of the folder, and of those above it in its repository, that would start a program or allow a call. */
function decidingFiles({ cwd }: SettingsRequest, home: string): string[] {
  const real = realPath(cwd);
  return folderFiles(cwd, CLAUDE_STARTS, home).flatMap((found) => {
    const path = join(cwd, relative(real, found));
    if (basename(path) !== ".claude") return [path];
    const names = attempt(() => readdirSync(path)) ?? [];
    return names
      .filter((name) => !TEXTS.has(name) && !(SETTINGS.has(name) && isRestricting(join(path, name))))
      .map((name) => join(path, name));
  });
}

/** Whether settings of a folder only refuse calls, or ask about them. */
function isRestricting(file: string): boolean {
  const {
    $schema: _schema,
    permissions,
    ...others
  } = attempt(() => recordOf(JSON.parse(readRegularFile(file) ?? "") as unknown)) ?? { unread: true };
  const names = Object.keys(recordOf(permissions));
  return Object.keys(others).length === 0 && names.every((name) => name === "deny" || name === "ask");
}

/**
 * Claude Code's own record of the folder, `projects["/home/ann/app"].hasTrustDialogAccepted`: of the folder or one above it, up to the
 * root of its repository.
 */
function isTrusted(state: Fields, { cwd, env }: SettingsRequest): boolean {
  if (env["CLAUDE_CODE_IGNORE_PERSISTED_TRUST"]) return false;
  const projects = recordOf(state["projects"]);
  const real = realPath(cwd);
  const top = repositoryRoot(real);
  for (let at = real; ; at = dirname(at)) {
    if (recordOf(projects[at.replaceAll("\\", "/")])["hasTrustDialogAccepted"] === true) return true;
    if (at === top || dirname(at) === at) return false;
  }
}

/** Value from the settings alone, whatever the environment contains. */
export function settingsVariable(layers: readonly Fields[], name: string): string | undefined {
  for (const layer of layers) {
    const value = stringOf(recordOf(layer["env"])[name]);
    if (value !== "") return value;
  }
  return undefined;
}

/** Whether Claude Code would use a subscription. */
export function usesSubscription(
  { layers, credentials, state, variable }: UserSettings,
  args: readonly string[],
): boolean {
  const bearer = variable("ANTHROPIC_AUTH_TOKEN");
  if (bearer?.startsWith("sk-ant-oat")) return true;
  // For a gateway of the user's own.
  if (bearer !== undefined) return false;
  const key = variable("ANTHROPIC_API_KEY");
  const hasLogin =
    variable("CLAUDE_CODE_OAUTH_TOKEN") !== undefined ||
    credentials["claudeAiOauth"] !== undefined ||
    state["oauthAccount"] !== undefined;
  if (!hasLogin || args.includes("--bare")) return false;
  const isPrint = args.includes("-p") || args.includes("--print");
  if (key !== undefined) return !isPrint && isDeclined(state, key);
  const hasHelper = layers.some((layer) => stringOf(layer["apiKeyHelper"]) !== "");
  return !hasHelper && stringOf(state["primaryApiKey"]) === "";
}

/** The user rejected the key in Claude Code's prompt. Claude Code stores the end of it. */
function isDeclined(state: Fields, key: string): boolean {
  const declined = recordOf(state["customApiKeyResponses"])["rejected"];
  return Array.isArray(declined) && declined.includes(key.slice(-20));
}

export function modelsSet({ layers, variable }: UserSettings, args: readonly string[]): string[] {
  const named = [
    optionValue(args, "--model"),
    variable("ANTHROPIC_MODEL"),
    ...layers.map((layer) => stringOf(layer["model"])),
  ];
  return named.filter((name) => name !== undefined && name !== "") as string[];
}
