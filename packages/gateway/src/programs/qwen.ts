/** Qwen Code (0.24.4): pointed by settings of the run, which replace those of the user, in a file of the run alone. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRequest,
  WrapRoute,
} from "@pagurus/contract/harness/wrap";
import type { SettingOrigin } from "@pagurus/contract/harness/wrap-origin";
import type { WrapRequestRule } from "@pagurus/contract/harness/wrap-rules";
import { type Fields, filledString, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import { QWEN_STARTS } from "@pagurus/core/native/folder-starts";
import { optionValue } from "@pagurus/core/native/option-value";
import {
  changedEnvironment,
  checkCommand,
  entryOf,
  environmentOf,
  findExecutable,
  folderFacts,
  hasOption,
  keyInEnvironment,
  type Layer,
  layeredSettings,
  mergedSettings,
  originOf,
  placeholderKey,
  PROVIDERS,
  readProjectSettings,
  readSettings,
  runFile,
  trustedServer,
  trustedByRules,
  variableLayers,
  versioned,
  withoutOption,
} from "./program-survey.ts";
import { projectFiles, type ProjectFiles } from "./project-files.ts";

const SYSTEM_SETTINGS = "QWEN_CODE_SYSTEM_SETTINGS_PATH";
const SYSTEM_FILE = "/etc/qwen-code/settings.json";
const TRUSTED_FOLDERS = "QWEN_CODE_TRUSTED_FOLDERS_PATH";
const ASKING = { security: { folderTrust: { enabled: true } } };
const COMMANDS = "auth board channel extensions hooks mcp review sandbox serve sessions update".split(" ");
/** Its ways of authentication, with the variables of their base URLs. */
const TYPES: Readonly<Record<string, { api: WireApi; baseUrlEnv: string }>> = {
  openai: { api: "openai-completions", baseUrlEnv: "OPENAI_BASE_URL" },
  "openai-responses": { api: "openai-responses", baseUrlEnv: "OPENAI_BASE_URL" },
  anthropic: { api: "anthropic-messages", baseUrlEnv: "ANTHROPIC_BASE_URL" },
};

const RULES: readonly WrapRequestRule[] = [
  {
    kind: "compaction",
    version: "0.24.4",
    matches: ({ hasTools, system }) =>
      !hasTools &&
      system.startsWith(
        "You are the component that summarizes a conversation when its context window is about to overflow.",
      ),
  },
  {
    kind: "side",
    version: "0.24.4",
    matches: ({ system }) =>
      system.startsWith(
        "You are now acting as the managed memory extraction subagent for an AI coding assistant.",
      ),
  },
];

export const qwenWrap: ProgramWrap = {
  id: "qwen",
  label: "Qwen Code",
  api: "openai-completions",
  rules: RULES,
  survey: async (request) => survey(request),
};

interface SetUp {
  /** As the program sees them, with its files of variables. */
  variables: Layer[];
  files: ProjectFiles;
  layers: Layer[];
  settings: Fields;
  system: Fields;
  type: string;
  model: string | undefined;
  /** Its entry in the user's list of models. */
  entry: Fields | undefined;
}

/** Its own record of the folder; undefined if its question about folders is switched off, which is its default. */
function ownTrust(
  { env, cwd }: WrapRequest,
  { home, settings }: { home: string; settings: Fields },
): boolean | undefined {
  if (recordOf(recordOf(settings["security"])["folderTrust"])["enabled"] !== true) return undefined;
  return trustedByRules(readSettings(env[TRUSTED_FOLDERS] || join(home, "trustedFolders.json")), cwd);
}

function setUpOf(request: WrapRequest): SetUp {
  const { args, cwd } = request;
  const home = request.env["QWEN_HOME"] || join(request.env["HOME"] || homedir(), ".qwen");
  const system = readSettings(request.env[SYSTEM_SETTINGS] || SYSTEM_FILE);
  const user = readSettings(join(home, "settings.json"));
  const own = ownTrust(request, { home, settings: layeredSettings([user, system]) });
  const files = projectFiles(request, { own, starts: QWEN_STARTS });
  const layers: Layer[] = [
    { from: "user", fields: user },
    { from: "project", fields: readProjectSettings(files, join(cwd, ".qwen", "settings.json")) },
    { from: "user", fields: system },
  ];
  const settings = layeredSettings(layers.map(({ fields }) => fields));
  const inSettings = layers.map(({ from, fields }): Layer => ({ from, fields: recordOf(fields["env"]) }));
  const variables = variableLayers(request, ".qwen", files, inSettings);
  const env = environmentOf(variables);
  const auth = recordOf(recordOf(settings["security"])["auth"]);
  const type = optionValue(args, "--auth-type") ?? (stringOf(auth["selectedType"]) || "openai");
  const named = filledString(recordOf(settings["model"])["name"]);
  const model = optionValue(args, "-m", "--model") ?? env["OPENAI_MODEL"] ?? env["QWEN_MODEL"] ?? named;
  const listed = recordsOf(recordOf(settings["modelProviders"])[type]);
  const entry = listed.find(({ id }) => id === model);
  return { variables, files, layers, settings, system, type, model, entry };
}

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  checkCommand(request, COMMANDS);
  const command = findExecutable(request, "npm install -g @qwen-code/qwen-code");
  const setUp = setUpOf(request);
  const { type, model, entry } = setUp;
  const known = entryOf(TYPES, type);
  const { api, baseUrlEnv } = known ?? { api: "openai-completions" as const, baseUrlEnv: "OPENAI_BASE_URL" };
  const { id, baseUrl, keyEnv } = PROVIDERS[api];
  const set = addressOf(request, setUp, baseUrlEnv);
  const address = (set?.url || baseUrl).replace(/\/+$/, "");
  return {
    api,
    provider: {
      id,
      baseUrl: versioned(address, api),
      from: set?.from ?? "built-in",
      ...keyInEnvironment(env, filledString(entry?.["envKey"]) ?? keyEnv),
    },
    cwd,
    ...folderFacts(setUp.files),
    models: model === undefined ? [] : [model],
    resumes: hasOption(args, "-c", "--continue", "-r", "--resume"),
    ...(known ? {} : { refusal: refusalOf(type) }),
    launch: (route) =>
      Promise.resolve(
        launch(request, { setUp, route, command, baseUrlEnv, keyEnv: stringOf(entry?.["envKey"]) || keyEnv }),
      ),
  };
}

/** The address that is set, by its precedence. */
function addressOf(
  { args }: WrapRequest,
  { variables, layers, settings, type, entry }: SetUp,
  baseUrlEnv: string,
): { url: string; from: SettingOrigin } | undefined {
  const argument = optionValue(args, "--openai-base-url");
  if (argument !== undefined) return { url: argument, from: "arguments" };
  const listed = filledString(entry?.["baseUrl"]);
  // Lists are replaced as a whole, so the entry is that of the last layer with a list.
  const lists = layers.filter(({ fields }) => Array.isArray(recordOf(fields["modelProviders"])[type]));
  if (listed !== undefined) return { url: listed, from: lists.at(-1)?.from ?? "project" };
  const variable = environmentOf(variables)[baseUrlEnv];
  if (variable) return { url: variable, from: originOf(variables, [baseUrlEnv]) ?? "project" };
  const inSettings = filledString(recordOf(recordOf(settings["security"])["auth"])["baseUrl"]);
  const path = ["security", "auth", "baseUrl"];
  return inSettings === undefined
    ? undefined
    : { url: inSettings, from: originOf(layers, path) ?? "project" };
}

function refusalOf(type: string): NonNullable<WrappedProgram["refusal"]> {
  if (type === "qwen-oauth")
    return {
      kind: "account",
      reason:
        "Qwen Code is logged in with a Qwen account, whose address is part of the login; choose an API key (--auth-type openai) to have its conversation governed, or name a model of ours with --model.",
    };
  return {
    kind: "place",
    reason: `Qwen Code is set to "${type}", whose requests are not governed yet; choose --auth-type ${Object.keys(TYPES).join(", ")}.`,
  };
}

interface Launched {
  setUp: SetUp;
  route: WrapRoute;
  command: string;
  baseUrlEnv: string;
  keyEnv: string;
}

/** The address is in a file that only the user can read, since it holds the route's secret. */
function launch(
  { args, env, folder }: WrapRequest,
  { setUp, route, command, baseUrlEnv, keyEnv }: Launched,
): WrapLaunch {
  const { system, settings, type, entry, files } = setUp;
  const chosen = route.answersAll && !Object.hasOwn(TYPES, type) ? "openai" : type;
  const listed = recordsOf(recordOf(settings["modelProviders"])[chosen]);
  const models = listed.map((each) => (each === entry ? { ...each, baseUrl: route.secretUrl } : each));
  // Its own question about folders: off by default, so it would use what is withheld here.
  const asking = files.withheld.length > 0 ? mergedSettings(system, ASKING) : system;
  const own = mergedSettings(asking, {
    security: { auth: { selectedType: chosen, baseUrl: route.secretUrl } },
    ...(entry ? { modelProviders: { [chosen]: models } } : {}),
    ...(route.tools ? { mcpServers: trustedServer(route.tools, settings["mcpServers"]) } : {}),
  });
  const file = runFile(folder, "json", JSON.stringify(own));
  const key = placeholderKey(route, env, keyEnv);
  const set = { [SYSTEM_SETTINGS]: file, [baseUrlEnv]: route.secretUrl, ...key };
  return {
    command,
    args: withoutOption(args, "--openai-base-url"),
    env: changedEnvironment(env, set),
    files: [file],
  };
}
