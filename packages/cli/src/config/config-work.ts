import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { parseValueText, setConfigValue, unsetConfigValue } from "@pagurus/core/config/edit";
import { formatKeyPath, parseKeyPath } from "@pagurus/core/config/key-path";
import { getConfigValue, loadConfig } from "@pagurus/core/config/load-config";
import { configFile, resolveHome } from "@pagurus/core/config/config-paths";
import { AT_START } from "@pagurus/server/config-watch";
import { runningServer } from "@pagurus/server/server-address";
import { plural } from "@pagurus/core/data/plain-numbers";
import { type Cli, printJson, printLine } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";

export interface ConfigGetOptions {
  showSecrets?: boolean;
  json?: boolean;
}

const HIDDEN = "(hidden)";
const SECRET_KEY = /(api[-_]?key|token|secret|password|passwd|credential|authorization|cookie)$/i;
/** Token counts and file paths also have such names, and are not secret. */
const NOT_SECRET = /^(max|keep|reserve|tool).*tokens?$/i;
const REFERENCE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

function hideText(text: string, secret: boolean): string {
  if (REFERENCE.test(text)) return text;
  if (secret) return HIDDEN;
  // A URL may contain a user and a password.
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@\s]+@/i, `$1${HIDDEN}@`);
}

/** The value with its secrets hidden; `\${ENV}` references and `{file}` paths stay, since they are not the secret. */
export function hideSecrets(value: unknown, key = "", inHeaders = false): unknown {
  if (typeof value === "string")
    return hideText(value, inHeaders || (SECRET_KEY.test(key) && !NOT_SECRET.test(key)));
  if (Array.isArray(value)) return value.map((item) => hideSecrets(item, key, inHeaders));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, item]) => [
    name,
    hideSecrets(item, name, inHeaders || key === "headers"),
  ]);
  return Object.fromEntries(entries);
}

function warn(cli: Cli, warnings: readonly string[]): void {
  for (const warning of warnings) printLine(cli.stderr, `warning: ${warning}`);
}

/** `config get`. */
export function configGet(cli: Cli, path: string | undefined, options: ConfigGetOptions): Promise<number> {
  const { config, warnings } = loadConfig({ home: resolveHome(cli.env) });
  const keys = path === undefined ? [] : parseKeyPath(path);
  const found = keys.length === 0 ? config : getConfigValue(config, keys);
  const inHeaders = keys.includes("headers");
  const value =
    options.showSecrets === true ? found : hideSecrets(found, String(keys.at(-1) ?? ""), inHeaders);
  if (typeof value === "string" && options.json !== true) printLine(cli.stdout, value);
  else printJson(cli, value);
  warn(cli, warnings);
  return Promise.resolve(EXIT_DONE);
}

/** `config set`. */
export async function configSet(cli: Cli, path: string, value: string): Promise<number> {
  const { warnings } = setConfigValue(fileOf(cli), parseKeyPath(path), parseValueText(value));
  warn(cli, [...warnings, ...(await modelWarnings(cli, path))]);
  noteServer(cli, path);
  return EXIT_DONE;
}

/** Sentences about models that the key names and that cannot be used. */
async function modelWarnings(cli: Cli, path: string): Promise<string[]> {
  if (!/model|fallbacks/.test(path)) return [];
  const { config } = loadConfig({ home: resolveHome(cli.env) });
  return (await import("./config-models.ts")).refProblems(formatKeyPath(parseKeyPath(path)), config, cli.env);
}

/** `config unset`. */
export function configUnset(cli: Cli, path: string): Promise<number> {
  const { warnings } = unsetConfigValue(fileOf(cli), parseKeyPath(path));
  warn(cli, warnings);
  noteServer(cli, path);
  return Promise.resolve(EXIT_DONE);
}

/** A server that runs follows the configuration, except for what it has read at its start. */
function noteServer(cli: Cli, path: string): void {
  const server = runningServer(resolveHome(cli.env));
  const [first = ""] = parseKeyPath(path);
  if (server === undefined) return;
  const why = AT_START.has(String(first))
    ? "has read this key at its start"
    : first === "models"
      ? "uses this for its next turns, but its model API still lists the models of its start"
      : undefined;
  if (why !== undefined)
    printLine(cli.stderr, `note: the server at ${server.url} ${why}; pagurus serve restart changes that`);
}

function fileOf(cli: Cli): string {
  return configFile(resolveHome(cli.env));
}

/** `config validate`: prints every problem, and throws `config_invalid` when there is one. */
export async function configValidate(cli: Cli): Promise<number> {
  const { file, found, warnings } = await checkedConfig(cli).catch((error: unknown) => {
    const problems = isPagurusError(error) ? error.details["problems"] : undefined;
    if (Array.isArray(problems) && problems.length > 1) {
      for (const problem of problems) printLine(cli.stdout, String(problem));
    }
    throw error;
  });
  warn(cli, warnings);
  const tail = warnings.length === 0 ? "" : `, with ${plural(warnings.length, "warning")}`;
  printLine(
    cli.stdout,
    found ? `${file} is valid${tail}.` : `${file} does not exist; the defaults are in use.`,
  );
  return EXIT_DONE;
}

/** Loads the configuration and checks models and plugin settings as a run would. Throws `config_invalid`. */
async function checkedConfig(cli: Cli): Promise<{ file: string; found: boolean; warnings: string[] }> {
  const { config, file, found, warnings } = loadConfig({ home: resolveHome(cli.env) });
  const { checkModels } = await import("./config-models.ts");
  const models = checkModels(config, cli.env);
  const [first] = models.problems;
  if (first !== undefined) {
    throw new PagurusError("config_invalid", `${file}: ${first}`, { details: { problems: models.problems } });
  }
  const { checkPluginSettings } = await import("./config-plugins.ts");
  const plugins = checkPluginSettings(config, resolveHome(cli.env));
  const [wrong] = plugins.problems;
  if (wrong !== undefined) {
    throw new PagurusError("config_invalid", `${file}: ${wrong}`, {
      details: { problems: plugins.problems },
    });
  }
  return { file, found, warnings: [...warnings, ...models.warnings, ...plugins.warnings] };
}

/** `config schema`. */
export async function configSchemaText(cli: Cli): Promise<number> {
  const { configJsonSchema } = await import("@pagurus/core/config/config-schema");
  printJson(cli, configJsonSchema());
  return EXIT_DONE;
}
