/** pi (0.87.1): pointed by an extension of the run, which sets the address and headers of the chosen provider. */
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRequest,
  WrapRoute,
} from "@pagurus/contract/harness/wrap";
import type { WrapRequestRule } from "@pagurus/contract/harness/wrap-rules";
import { type Fields, filledString, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { PI_STARTS } from "@pagurus/core/native/folder-starts";
import { optionValue } from "@pagurus/core/native/option-value";
import {
  changedEnvironment,
  checkCommand,
  entryOf,
  findExecutable,
  folderFacts,
  hasOption,
  keyInEnvironment,
  NO_KEY,
  ownKey,
  PROVIDERS,
  readProjectSettings,
  readSettings,
  subscriptionRefusal,
  runFile,
  versioned,
} from "./program-survey.ts";
import { projectFiles, type ProjectFiles } from "./project-files.ts";
import { realPath } from "@pagurus/core/platform/real-path";
import { defined } from "@pagurus/core/data/defined";

const COMMANDS = "install remove uninstall update list config llama".split(" ");
const APIS: Readonly<Record<string, WireApi>> = {
  "openai-completions": "openai-completions",
  "openai-responses": "openai-responses",
  "anthropic-messages": "anthropic-messages",
};
/** Providers that it knows without a file of models. */
const BUILT_IN: Readonly<Record<string, WireApi>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
};
const SETTING = "PAGURUS_WIRE_PI";
/** Read by pi from the environment, so that the file holds no secret. */
const EXTENSION = `export default function (pi) {
  const { id, ...setting } = JSON.parse(process.env.${SETTING});
  pi.registerProvider(id, setting);
}
`;

const RULES: readonly WrapRequestRule[] = [];

export const piWrap: ProgramWrap = {
  id: "pi",
  label: "pi",
  api: "anthropic-messages",
  rules: RULES,
  survey: async (request) => survey(request),
};

interface SetUp {
  files: ProjectFiles;
  id: string;
  model: string | undefined;
  provider: Fields;
  login: Fields;
}

/** Its own record of the folder, `{"/home/ann/app": true}`: the nearest folder above decides. */
function piTrust({ args, cwd }: WrapRequest, { folder, user }: { folder: string; user: Fields }): boolean {
  if (hasOption(args, "--no-approve", "-na")) return false;
  if (hasOption(args, "--approve", "-a")) return true;
  const record = readSettings(join(folder, "trust.json"));
  for (let at = realPath(cwd); ; at = dirname(at)) {
    const decision = record[at];
    if (typeof decision === "boolean") return decision;
    if (dirname(at) === at) return user["defaultProjectTrust"] === "always";
  }
}

function piSetUp(request: WrapRequest): SetUp {
  const { args, env, cwd } = request;
  const folder = env["PI_CODING_AGENT_DIR"] || join(env["HOME"] || homedir(), ".pi", "agent");
  const user = readSettings(join(folder, "settings.json"));
  const files = projectFiles(request, { own: piTrust(request, { folder, user }), starts: PI_STARTS });
  const settings = { ...user, ...readProjectSettings(files, join(cwd, ".pi", "settings.json")) };
  const named = optionValue(args, "--model");
  const [first = "", ...rest] = (named ?? "").replace(/:[a-z]+$/, "").split("/");
  const byModel = rest.length > 0 ? first : undefined;
  const id = optionValue(args, "--provider") ?? byModel ?? stringOf(settings["defaultProvider"]);
  const provider = recordOf(recordOf(readSettings(join(folder, "models.json"))["providers"])[id]);
  const login = recordOf(readSettings(join(folder, "auth.json"))[id]);
  const model = rest.length > 0 ? rest.join("/") : (named ?? filledString(settings["defaultModel"]));
  return { files, id, model, provider, login };
}

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  checkCommand(request, COMMANDS);
  const command = findExecutable(request, "npm install -g @earendil-works/pi-coding-agent");
  const setUp = piSetUp(request);
  const { id, model, provider } = setUp;
  const api =
    entryOf(APIS, stringOf(provider["api"])) ??
    (provider["api"] === undefined ? entryOf(BUILT_IN, id) : undefined);
  const spoken = api ?? "anthropic-messages";
  const isBuiltIn = Object.hasOwn(BUILT_IN, id);
  const set = filledString(provider["baseUrl"]) ?? (isBuiltIn ? PROVIDERS[spoken].baseUrl : undefined);
  const variable = /^\$\{?(\w+)\}?$/.exec(stringOf(provider["apiKey"]))?.[1];
  const refusal = refusalOf(setUp, api !== undefined && set !== undefined);
  const address = (set ?? PROVIDERS[spoken].baseUrl).replace(/\/+$/, "");
  return {
    api: spoken,
    provider: {
      id: id === "" ? PROVIDERS[spoken].id : id,
      baseUrl: versioned(address, spoken),
      // Its models are in the user's own file alone.
      from: filledString(provider["baseUrl"]) === undefined ? "built-in" : "user",
      ...(variable === undefined ? ownKey(env, spoken, address) : keyInEnvironment(env, variable)),
    },
    cwd,
    ...folderFacts(setUp.files),
    models: model === undefined ? [] : [model],
    resumes: hasOption(args, "-c", "--continue", "-r", "--resume", "--session", "--session-id"),
    ...defined({ refusal }),
    launch: (route) => Promise.resolve(launch(request, { command, id: id || PROVIDERS[spoken].id, route })),
  };
}

function refusalOf({ id, login }: SetUp, isKnown: boolean): WrappedProgram["refusal"] {
  if (id === "")
    return {
      kind: "place",
      reason:
        "pi's provider is not set; name it with --provider or --model provider/model after pi, or as defaultProvider in its settings.",
    };
  if (login["type"] === "oauth") return subscriptionRefusal("pi", id);
  if (isKnown) return undefined;
  return {
    kind: "place",
    reason: `The address or protocol of pi's provider "${id}" is not known; set api (${Object.keys(APIS).join(", ")}) and baseUrl of it in pi's models.json.`,
  };
}

function launch(
  { args, env, folder }: WrapRequest,
  { command, id, route }: { command: string; id: string; route: WrapRoute },
): WrapLaunch {
  const file = runFile(folder, "js", EXTENSION);
  const key = route.answersAll ? { apiKey: NO_KEY } : {};
  const setting = JSON.stringify({ id, baseUrl: route.baseUrl, headers: route.headers, ...key });
  return {
    command,
    args: ["--extension", file, ...args],
    env: changedEnvironment(env, { [SETTING]: setting }),
    files: [file],
  };
}
