/** OpenCode (1.18.33): pointed by a configuration in its environment, on top of the user's files. */
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { existsSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { ProgramWrap, WrappedProgram, WrapRequest, WrapRoute } from "@pagurus/contract/harness/wrap";
import type { WrapRequestRule } from "@pagurus/contract/harness/wrap-rules";
import { type Fields, filledString, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { freeName } from "@pagurus/core/native/free-name";
import { OPENCODE_FILES, OPENCODE_RUNS } from "@pagurus/core/native/folder-starts";
import { optionValue } from "@pagurus/core/native/option-value";
import {
  changedEnvironment,
  checkCommand,
  entryOf,
  findExecutable,
  folderFacts,
  hasOption,
  keyInEnvironment,
  type Layer,
  layeredSettings,
  mergedSettings,
  NO_KEY,
  originOf,
  ownKey,
  parseSettings,
  PROVIDERS,
  readProjectSettings,
  readSettings,
  subscriptionRefusal,
} from "./program-survey.ts";
import { checkRuns, projectFiles, type ProjectFiles } from "./project-files.ts";
import { defined } from "@pagurus/core/data/defined";

const CONTENT = "OPENCODE_CONFIG_CONTENT";
/** Leaves the folder's configuration, plugins and instructions out. */
const NO_PROJECT = "OPENCODE_DISABLE_PROJECT_CONFIG";
const COMMANDS =
  "completion acp mcp attach debug providers auth agent upgrade uninstall serve web models stats export import github pr session plugin plug db".split(
    " ",
  );
/** Client packages of its providers, with their protocols. */
const PACKAGES: Readonly<Record<string, WireApi>> = {
  "@ai-sdk/anthropic": "anthropic-messages",
  "@ai-sdk/openai": "openai-responses",
  "@ai-sdk/openai-compatible": "openai-completions",
  "@ai-sdk/google": "google-generative-ai",
};
/** Providers that it knows without a configuration. */
const BUILT_IN: Readonly<Record<string, WireApi>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
  google: "google-generative-ai",
};

const VERSIONS: Partial<Record<WireApi, string>> = {
  "anthropic-messages": "/v1",
  "google-generative-ai": "/v1beta",
};

const RULES: readonly WrapRequestRule[] = [
  {
    kind: "compaction",
    version: "1.18.33",
    matches: ({ hasTools, system }) =>
      !hasTools && system.startsWith("You are a context summarization agent. "),
  },
  {
    kind: "subagent",
    version: "1.18.33",
    matches: ({ headers }) => headers["x-parent-session-id"] !== undefined,
  },
  {
    kind: "side",
    version: "1.18.33",
    matches: ({ hasTools, system }) => !hasTools && system.startsWith("You are a title generator."),
  },
];

export const opencodeWrap: ProgramWrap = {
  id: "opencode",
  label: "OpenCode",
  api: "anthropic-messages",
  conversationHeader: "x-session-id",
  rules: RULES,
  survey: async (request) => survey(request),
};

/** The user's configuration, in OpenCode's order: global, project folders from the root down, variables. */
function configuration({ env, cwd }: WrapRequest, files: ProjectFiles): Layer[] {
  const home = env["HOME"] || homedir();
  const global = join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode");
  const user = (file: string): Layer => ({ from: "user", fields: readSettings(file) });
  const inFolder = (folder: string): Layer[] => OPENCODE_FILES.map((name) => user(join(folder, name)));
  const inProject = (folder: string): Layer[] =>
    [folder, join(folder, ".opencode")].flatMap((at) =>
      OPENCODE_FILES.map((name): Layer => ({
        from: "project",
        fields: readProjectSettings(files, join(at, name)),
      })),
    );
  return [
    ...inFolder(global),
    ...(env["OPENCODE_CONFIG"] ? [user(env["OPENCODE_CONFIG"])] : []),
    ...(env[NO_PROJECT] ? [] : projectFolders(cwd).flatMap(inProject)),
    ...(env["OPENCODE_CONFIG_DIR"] ? inFolder(env["OPENCODE_CONFIG_DIR"]) : []),
    { from: "environment", fields: parseSettings(env[CONTENT]) },
  ];
}

/** The folders from the repository's root to the working folder. */
function projectFolders(cwd: string): string[] {
  const folders = [cwd];
  for (let at = cwd; !existsSync(join(at, ".git")) && dirname(at) !== at;) {
    at = dirname(at);
    folders.unshift(at);
  }
  return folders;
}

function logins({ env }: WrapRequest): Fields {
  const data = env["XDG_DATA_HOME"] || join(env["HOME"] || homedir(), ".local", "share");
  return {
    ...readSettings(join(data, "opencode", "auth.json")),
    ...parseSettings(env["OPENCODE_AUTH_CONTENT"]),
  };
}

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  checkCommand(request, COMMANDS);
  if (hasOption(args, "--attach"))
    throw new PagurusError(
      "usage_invalid",
      "`opencode --attach` runs its conversation in another process; wrap the server's program instead.",
    );
  const command = findExecutable(request, "npm install -g opencode-ai");
  // OpenCode asks no question about folders, so the host's own record decides.
  const files = projectFiles(request, { own: undefined, starts: OPENCODE_RUNS });
  const layers = configuration(request, files);
  const config = layeredSettings(layers.map(({ fields }) => fields));
  const ref = optionValue(args, "-m", "--model") ?? stringOf(config["model"]);
  const [id = "", ...rest] = ref.split("/");
  const provider = recordOf(recordOf(config["provider"])[id]);
  const api =
    entryOf(PACKAGES, stringOf(provider["npm"])) ??
    (provider["npm"] === undefined ? entryOf(BUILT_IN, id) : undefined);
  const options = recordOf(provider["options"]);
  const isBuiltIn = Object.hasOwn(BUILT_IN, id);
  const address =
    expanded(filledString(options["baseURL"]), env) ??
    (api && isBuiltIn ? PROVIDERS[api].baseUrl : undefined);
  const refusal = refusalOf({ ref, id, api, address, login: recordOf(logins(request)[id]) });
  const spoken = api ?? "anthropic-messages";
  const url = (address ?? PROVIDERS[spoken].baseUrl).replace(/\/+$/, "");
  const variable = /^\{env:(\w+)\}$/.exec(stringOf(options["apiKey"]))?.[1];
  return {
    api: spoken,
    provider: {
      id: id === "" ? PROVIDERS[spoken].id : id,
      baseUrl: url,
      from: originOf(layers, ["provider", id, "options", "baseURL"]) ?? "built-in",
      ...(variable === undefined ? ownKey(env, spoken, url) : keyInEnvironment(env, variable)),
    },
    cwd,
    ...folderFacts(files),
    models: rest.length === 0 ? [] : [rest.join("/")],
    resumes: hasOption(args, "-c", "--continue", "-s", "--session"),
    ...defined({ refusal }),
    launch: async (route) => {
      checkRuns(request, files, { would: "OpenCode would load plugins of", runs: OPENCODE_RUNS });
      const own = settingsFor({ config, id, api: spoken, route });
      const content = JSON.stringify(mergedSettings(parseSettings(env[CONTENT]), own));
      return {
        command,
        args: [...args],
        env: changedEnvironment(env, {
          [CONTENT]: content,
          ...(files.withheld.length > 0 ? { [NO_PROJECT]: "1" } : {}),
        }),
      };
    },
  };
}

/** A value with the variables that OpenCode's configuration may refer to. */
function expanded(text: string | undefined, env: WrapRequest["env"]): string | undefined {
  return text?.replaceAll(/\{env:(\w+)\}/g, (_, name: string) => env[name] ?? "") || undefined;
}

interface Chosen {
  ref: string;
  id: string;
  api: WireApi | undefined;
  address: string | undefined;
  login: Fields;
}

function refusalOf({ ref, id, api, address, login }: Chosen): WrappedProgram["refusal"] {
  if (ref === "")
    return {
      kind: "place",
      reason:
        "OpenCode's model is not set, so its provider is not known; name one with --model provider/model after opencode, or in its configuration.",
    };
  if (login["type"] === "oauth") return subscriptionRefusal("OpenCode", id);
  if (api !== undefined && address !== undefined) return undefined;
  return {
    kind: "place",
    reason: `The address or protocol of OpenCode's provider "${id}" is not known; set provider.${id}.npm (${Object.keys(PACKAGES).join(", ")}) and provider.${id}.options.baseURL in its configuration.`,
  };
}

function settingsFor({
  config,
  id,
  api,
  route,
}: {
  config: Fields;
  id: string;
  api: WireApi;
  route: WrapRoute;
}): Record<string, unknown> {
  // Its clients add no version.
  const baseURL = `${route.baseUrl}${VERSIONS[api] ?? ""}`;
  const key = route.answersAll ? { apiKey: NO_KEY } : {};
  const options = { baseURL, headers: route.headers, ...key };
  const { tools } = route;
  const name = tools && freeName(tools.name, new Set(Object.keys(recordOf(config["mcp"]))));
  const server = tools && {
    type: "local",
    command: [tools.command, ...tools.args],
    environment: tools.env,
    enabled: true,
  };
  return {
    provider: { [id]: { options } },
    ...(name === undefined ? {} : { mcp: { [name]: server } }),
  };
}
