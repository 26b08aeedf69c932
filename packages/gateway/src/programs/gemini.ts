/** Gemini CLI (0.61.0): pointed by its environment; the engine's tools are in a settings file of the run. */
import { homedir } from "node:os";
import { join } from "node:path";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRequest,
  WrapRoute,
} from "@pagurus/contract/harness/wrap";
import { type Fields, filledString, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { GEMINI_STARTS } from "@pagurus/core/native/folder-starts";
import { optionValue } from "@pagurus/core/native/option-value";
import {
  changedEnvironment,
  checkCommand,
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
} from "./program-survey.ts";
import { projectFiles, type ProjectFiles } from "./project-files.ts";
import { defined } from "@pagurus/core/data/defined";

const { id: PROVIDER, baseUrl: ADDRESS, keyEnv: KEY } = PROVIDERS["google-generative-ai"];
const BASE_URL = "GOOGLE_GEMINI_BASE_URL";
const SYSTEM_SETTINGS = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
const SYSTEM_FILE = "/etc/gemini-cli/settings.json";
const COMMANDS = "mcp extensions extension skills skill hooks hook".split(" ");
const TRUSTED_FOLDERS = "GEMINI_CLI_TRUSTED_FOLDERS_PATH";
/** Switches its own question about folders on. */
const ASKING = { security: { folderTrust: { enabled: true } } };
/** The only way of authentication whose requests go to the protocol's address. */
const BY_KEY = "gemini-api-key";

export const geminiWrap: ProgramWrap = {
  id: "gemini",
  label: "Gemini CLI",
  api: "google-generative-ai",
  survey: async (request) => survey(request),
};

interface SetUp {
  system: Fields;
  /** Way of authentication. */
  type: string;
  model: string | undefined;
  /** The user's MCP servers. */
  servers: unknown;
  files: ProjectFiles;
  /** Variables as the program sees them. */
  variables: Layer[];
}

/** Its own record of the folder; undefined if its question about folders is switched off. */
function ownTrust(
  { env, cwd }: WrapRequest,
  { home, settings }: { home: string; settings: Fields },
): boolean | undefined {
  if (env["GEMINI_RESTRICTED_MODE"] === "true") return false;
  const answer = env["GEMINI_CLI_TRUST_WORKSPACE"];
  if (answer === "true" || answer === "false") return answer === "true";
  if (recordOf(recordOf(settings["security"])["folderTrust"])["enabled"] === false) return undefined;
  return trustedByRules(readSettings(env[TRUSTED_FOLDERS] || join(home, "trustedFolders.json")), cwd);
}

function setUpOf(request: WrapRequest): SetUp {
  const { args, cwd } = request;
  const system = readSettings(request.env[SYSTEM_SETTINGS] || SYSTEM_FILE);
  const home = join(request.env["GEMINI_CLI_HOME"] || request.env["HOME"] || homedir(), ".gemini");
  const user = readSettings(join(home, "settings.json"));
  const own = ownTrust(request, { home, settings: layeredSettings([user, system]) });
  const files = projectFiles(request, { own, starts: GEMINI_STARTS });
  const project = readProjectSettings(files, join(cwd, ".gemini", "settings.json"));
  const settings = layeredSettings([user, project, system]);
  // Its own file of variables is read by itself; a key in it makes no summaries.
  const variables = variableLayers(request, ".gemini", files);
  const env = environmentOf(variables);
  const selected = stringOf(recordOf(recordOf(settings["security"])["auth"])["selectedType"]);
  const named = filledString(recordOf(settings["model"])["name"]);
  const model = optionValue(args, "-m", "--model") ?? env["GEMINI_MODEL"] ?? named;
  const type = selected || (env[KEY] ? BY_KEY : "");
  return { system, type, model, servers: settings["mcpServers"], files, variables };
}

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  checkCommand(request, COMMANDS);
  const command = findExecutable(request, "npm install -g @google/gemini-cli");
  const setUp = setUpOf(request);
  const { files, variables } = setUp;
  const set = environmentOf(variables)[BASE_URL]?.replace(/\/+$/, "");
  const refusal = refusalOf(setUp.type);
  return {
    provider: {
      id: PROVIDER,
      baseUrl: set ? versioned(set, "google-generative-ai") : ADDRESS,
      from: set ? (originOf(variables, [BASE_URL]) ?? "project") : "built-in",
      ...keyInEnvironment(env, KEY),
    },
    cwd,
    ...folderFacts(files),
    models: setUp.model === undefined ? [] : [setUp.model],
    resumes: hasOption(args, "-r", "--resume"),
    ...defined({ refusal }),
    launch: (route) => Promise.resolve(launch(request, { command, setUp, route })),
  };
}

function refusalOf(type: string): WrappedProgram["refusal"] {
  if (type === BY_KEY) return undefined;
  if (type === "vertex-ai")
    return {
      kind: "place",
      reason: `Gemini CLI is set to Vertex AI, whose requests are not governed yet; choose an API key (${KEY}), or run gemini without pagurus wire.`,
    };
  return {
    kind: "account",
    reason: `Gemini CLI uses a Google account, whose requests go to an address of the login alone; set ${KEY} and choose the API key in /auth to have its conversation governed, or name a model of ours with --model.`,
  };
}

function launch(
  { args, env, folder }: WrapRequest,
  { command, setUp, route }: { command: string; setUp: SetUp; route: WrapRoute },
): WrapLaunch {
  const { system, servers, files } = setUp;
  const { tools, answersAll } = route;
  const asking = files.withheld.length > 0 ? mergedSettings(system, ASKING) : system;
  const own = mergedSettings(asking, {
    ...(answersAll ? { security: { auth: { selectedType: BY_KEY } } } : {}),
    ...(tools ? { mcpServers: trustedServer(tools, servers) } : {}),
  });
  const file = runFile(folder, "json", JSON.stringify(own));
  const set = {
    [SYSTEM_SETTINGS]: file,
    [BASE_URL]: route.secretUrl,
    ...placeholderKey(route, env, KEY),
  };
  return { command, args: [...args], env: changedEnvironment(env, set), files: [file] };
}
