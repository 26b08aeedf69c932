/** What a user has set for Claude Code, as far as it says where requests go and by whose right. Nothing of it is kept. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fields, text, type Fields } from "./fields.ts";

/** Settings of an organisation, which nothing overrides. */
const MANAGED: Readonly<Record<string, string>> = {
  linux: "/etc/claude-code/managed-settings.json",
  darwin: "/Library/Application Support/ClaudeCode/managed-settings.json",
};

export interface UserSettings {
  /** Of all layers, the nearest first. */
  layers: Fields[];
  managed: Fields;
  /** Its organisation says which MCP servers there are, and it does not start with any other. */
  hasManagedServers: boolean;
  /** Names of MCP servers that the user has set up. */
  servers: ReadonlySet<string>;
  /** Those of `--settings`. */
  given: Fields;
  /** Files that hold the login and what the user has answered. */
  credentials: Fields;
  state: Fields;
  /** A variable as Claude Code has it: settings go before the environment. */
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
    return fields(JSON.parse(json) as unknown);
  } catch {
    return {};
  }
}

/** Value of an option, as `--name value` or `--name=value`; the last one counts. */
function optionOf(args: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  for (const [index, arg] of args.entries()) {
    if (arg === "--") break;
    if (arg === name) found = args[index + 1];
    else if (arg.startsWith(`${name}=`)) found = arg.slice(name.length + 1);
  }
  return found;
}

function givenSettings({ args, cwd }: SettingsRequest): Fields {
  const given = optionOf(args, "--settings");
  if (given === undefined) return {};
  return given.trimStart().startsWith("{") ? parsed(given) : read(resolve(cwd, given));
}

/** `managedFile`: settings of an organisation; its MCP servers stand beside them. */
export function readUserSettings(
  request: SettingsRequest,
  managedFile = MANAGED[process.platform] ?? "",
): UserSettings {
  const { args, env, cwd } = request;
  const home = env["HOME"] ?? homedir();
  const folder = env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude");
  const sources = optionOf(args, "--setting-sources")
    ?.split(",")
    .map((name) => name.trim());
  const from = (source: string, file: string): Fields =>
    sources === undefined || sources.includes(source) ? read(file) : {};
  const managed = read(managedFile);
  const given = givenSettings(request);
  const layers = [
    managed,
    given,
    from("local", join(cwd, ".claude", "settings.local.json")),
    from("project", join(cwd, ".claude", "settings.json")),
    from("user", join(folder, "settings.json")),
  ];
  const state = read(
    env["CLAUDE_CONFIG_DIR"] === undefined ? join(home, ".claude.json") : join(folder, ".claude.json"),
  );
  const serverFiles = [state, fields(fields(state["projects"])[cwd]), read(join(cwd, ".mcp.json"))];
  return {
    layers,
    managed,
    hasManagedServers: existsSync(join(dirname(managedFile), "managed-mcp.json")),
    servers: new Set(serverFiles.flatMap((each) => Object.keys(fields(each["mcpServers"])))),
    given,
    credentials: read(join(folder, ".credentials.json")),
    state,
    variable: (name) => settingsVariable(layers, name) ?? (env[name] || undefined),
  };
}

/** As settings have it, whatever the environment says. */
export function settingsVariable(layers: readonly Fields[], name: string): string | undefined {
  for (const layer of layers) {
    const value = text(fields(layer["env"])[name]);
    if (value !== "") return value;
  }
  return undefined;
}

/** Whether a subscription is what Claude Code would use. */
export function usesSubscription(
  { layers, credentials, state, variable }: UserSettings,
  args: readonly string[],
): boolean {
  const bearer = variable("ANTHROPIC_AUTH_TOKEN");
  if (bearer?.startsWith("sk-ant-oat")) return true;
  // Of a gateway of the user's own.
  if (bearer !== undefined) return false;
  const key = variable("ANTHROPIC_API_KEY");
  const hasLogin =
    variable("CLAUDE_CODE_OAUTH_TOKEN") !== undefined ||
    credentials["claudeAiOauth"] !== undefined ||
    state["oauthAccount"] !== undefined;
  if (!hasLogin || args.includes("--bare")) return false;
  const isPrint = args.includes("-p") || args.includes("--print");
  if (key !== undefined) return !isPrint && isDeclined(state, key);
  const hasHelper = layers.some((layer) => text(layer["apiKeyHelper"]) !== "");
  return !hasHelper && text(state["primaryApiKey"]) === "";
}

/** The user was asked about the key and said no. Claude Code keeps the end of it. */
function isDeclined(state: Fields, key: string): boolean {
  const declined = fields(state["customApiKeyResponses"])["rejected"];
  return Array.isArray(declined) && declined.includes(key.slice(-20));
}

export function modelsSet({ layers, variable }: UserSettings, args: readonly string[]): string[] {
  const named = [
    optionOf(args, "--model"),
    variable("ANTHROPIC_MODEL"),
    ...layers.map((layer) => text(layer["model"])),
  ];
  return named.filter((name) => name !== undefined && name !== "") as string[];
}
