/** Gemini CLI (0.61.0): pointed by its environment; the engine's tools are in a settings file of the run. */
import { homedir } from "node:os";
import { join } from "node:path";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRequest,
  WrapRoute,
} from "../contract/harness/wrap.ts";
import { type Fields, filledString, recordOf, stringOf } from "../data/record-fields.ts";
import { optionValue } from "../native/option-value.ts";
import {
  changedEnvironment,
  checkCommand,
  findExecutable,
  hasOption,
  keyIn,
  layeredSettings,
  mergedSettings,
  placeholderKey,
  PROVIDERS,
  readSettings,
  runFile,
  trustedServer,
  versioned,
  withEnvFile,
} from "./program-survey.ts";

const { id: PROVIDER, baseUrl: ADDRESS, keyEnv: KEY } = PROVIDERS["google-generative-ai"];
const BASE_URL = "GOOGLE_GEMINI_BASE_URL";
const SYSTEM_SETTINGS = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
const SYSTEM_FILE = "/etc/gemini-cli/settings.json";
const COMMANDS = "mcp extensions extension skills skill hooks hook".split(" ");
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
}

function setUpOf({ args, cwd }: WrapRequest, env: WrapRequest["env"]): SetUp {
  const system = readSettings(env[SYSTEM_SETTINGS] || SYSTEM_FILE);
  const home = join(env["GEMINI_CLI_HOME"] || env["HOME"] || homedir(), ".gemini");
  const layers = [
    readSettings(join(home, "settings.json")),
    readSettings(join(cwd, ".gemini", "settings.json")),
    system,
  ];
  const settings = layeredSettings(layers);
  const selected = stringOf(recordOf(recordOf(settings["security"])["auth"])["selectedType"]);
  const named = filledString(recordOf(settings["model"])["name"]);
  const model = optionValue(args, "-m", "--model") ?? env["GEMINI_MODEL"] ?? named;
  return { system, type: selected || (env[KEY] ? BY_KEY : ""), model, servers: settings["mcpServers"] };
}

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  checkCommand(request, COMMANDS);
  const command = findExecutable(request, "npm install -g @google/gemini-cli");
  // Its own file of variables is read by itself; a key in it makes no summaries.
  const seen = withEnvFile(request, ".gemini");
  const setUp = setUpOf(request, seen);
  const set = seen[BASE_URL]?.replace(/\/+$/, "");
  const refusal = refusalOf(setUp.type);
  return {
    provider: {
      id: PROVIDER,
      baseUrl: set ? versioned(set, "google-generative-ai") : ADDRESS,
      ...keyIn(env, KEY),
    },
    cwd,
    models: setUp.model === undefined ? [] : [setUp.model],
    resumes: hasOption(args, "-r", "--resume"),
    ...(refusal ? { refusal } : {}),
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
  const { system, servers } = setUp;
  const { tools, answersAll } = route;
  const own = mergedSettings(system, {
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
