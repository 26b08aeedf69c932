/**
 * The user's settings of Claude Code, as far as they decide where requests go and with which credentials. Nothing of it is
 * stored.
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Fields, recordOf, stringOf } from "../../data/record-fields.ts";
import { optionValue } from "../../native/option-value.ts";

/** Settings of an organisation, which cannot be overridden. */
const MANAGED: Readonly<Record<string, string>> = {
  linux: "/etc/claude-code/managed-settings.json",
  darwin: "/Library/Application Support/ClaudeCode/managed-settings.json",
};

export interface UserSettings {
  /** All layers, in order of precedence. */
  layers: Fields[];
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
}

export interface SettingsRequest {
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

function read(file: string): Fields {
  try {
    return parsed(readFileSync(file, "utf8"));
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
  const layers = [
    managed,
    fromArguments,
    from("local", join(cwd, ".claude", "settings.local.json")),
    from("project", join(cwd, ".claude", "settings.json")),
    from("user", join(folder, "settings.json")),
  ];
  const state = read(
    env["CLAUDE_CONFIG_DIR"] === undefined ? join(home, ".claude.json") : join(folder, ".claude.json"),
  );
  const serverFiles = [state, recordOf(recordOf(state["projects"])[cwd]), read(join(cwd, ".mcp.json"))];
  return {
    layers,
    managed,
    hasManagedServers: existsSync(join(dirname(managedFile), "managed-mcp.json")),
    servers: new Set(serverFiles.flatMap((each) => Object.keys(recordOf(each["mcpServers"])))),
    fromArguments,
    credentials: read(join(folder, ".credentials.json")),
    state,
    variable: (name) => settingsVariable(layers, name) ?? (env[name] || undefined),
  };
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
