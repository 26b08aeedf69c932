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
import { freeName } from "../native/free-name.ts";
import {
  changedEnvironment,
  checkCommand,
  findExecutable,
  hasOption,
  keyIn,
  mergedSettings,
  NO_KEY,
  optionValue,
  PROVIDERS,
  readSettings,
  runFile,
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
  /** Names of the user's MCP servers. */
  servers: ReadonlySet<string>;
}

function setUpOf({ args, cwd }: WrapRequest, env: WrapRequest["env"]): SetUp {
  const system = readSettings(env[SYSTEM_SETTINGS] || SYSTEM_FILE);
  const home = join(env["GEMINI_CLI_HOME"] || env["HOME"] || homedir(), ".gemini");
  const layers = [
    readSettings(join(home, "settings.json")),
    readSettings(join(cwd, ".gemini", "settings.json")),
    system,
  ];
  const settings = layers.reduce<Fields>((under, over) => mergedSettings(under, over), {});
  const selected = stringOf(recordOf(recordOf(settings["security"])["auth"])["selectedType"]);
  const named = filledString(recordOf(settings["model"])["name"]);
  const model = optionValue(args, "-m", "--model") ?? env["GEMINI_MODEL"] ?? named;
  const servers = new Set(Object.keys(recordOf(settings["mcpServers"])));
  return { system, type: selected || (env[KEY] ? BY_KEY : ""), model, servers };
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
    ...(tools ? { mcpServers: serverOf(tools, servers) } : {}),
  });
  const file = runFile(folder, "json", JSON.stringify(own));
  const key: Record<string, string> = answersAll && !env[KEY] ? { [KEY]: NO_KEY } : {};
  const set = { [SYSTEM_SETTINGS]: file, [BASE_URL]: route.secretUrl, ...key };
  return { command, args: [...args], env: changedEnvironment(env, set), files: [file] };
}

/** Its server is trusted: the host's own hooks and rules see each call. */
function serverOf(
  { name, command, args, env }: NonNullable<WrapRoute["tools"]>,
  servers: ReadonlySet<string>,
): Fields {
  return { [freeName(name, servers)]: { command, args, env, trust: true } };
}
