/**
 * GitHub Copilot CLI (1.0.102), with a model provider of the user's own: pointed by its environment (`copilot help providers`). Its
 * requests to GitHub's own models go to an address that cannot be set.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { ProgramWrap, WrappedProgram, WrapRequest, WrapRoute } from "@pagurus/contract/harness/wrap";
import type { WrapRequestRule } from "@pagurus/contract/harness/wrap-rules";
import { recordOf } from "@pagurus/core/data/record-fields";
import { freeName } from "@pagurus/core/native/free-name";
import { optionValue } from "@pagurus/core/native/option-value";
import {
  changedEnvironment,
  checkCommand,
  findExecutable,
  hasOption,
  keyInEnvironment,
  NO_KEY,
  PROVIDERS,
  readSettings,
  versioned,
} from "./program-survey.ts";

const BASE_URL = "COPILOT_PROVIDER_BASE_URL";
const HEADERS = "COPILOT_PROVIDER_HEADERS";
const KEYS = ["COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_API_KEY"];
const COMMANDS = "help init login logout mcp plugin update version completion".split(" ");

const RULES: readonly WrapRequestRule[] = [
  {
    kind: "compaction",
    version: "1.0.102",
    matches: ({ headers }) => headers["x-interaction-type"] === "conversation-compaction",
  },
  {
    kind: "subagent",
    version: "1.0.102",
    matches: ({ headers }) => headers["x-interaction-type"] === "conversation-subagent",
  },
];

export const copilotWrap: ProgramWrap = {
  id: "copilot",
  label: "GitHub Copilot",
  api: "openai-completions",
  rules: RULES,
  survey: async (request) => survey(request),
};

/** Protocol that it is set to; undefined for one that is not governed. */
function apiOf(env: WrapRequest["env"]): WireApi | undefined {
  const type = env["COPILOT_PROVIDER_TYPE"] || "openai";
  if (type === "anthropic") return "anthropic-messages";
  if (type !== "openai") return undefined;
  return env["COPILOT_PROVIDER_WIRE_API"] === "responses" ? "openai-responses" : "openai-completions";
}

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  checkCommand(request, COMMANDS);
  const command = findExecutable(request, "npm install -g @github/copilot");
  const isSet = Boolean(env[BASE_URL]);
  const set = isSet ? apiOf(env) : undefined;
  const api = set ?? "openai-completions";
  const { id, baseUrl } = PROVIDERS[api];
  const address = (env[BASE_URL] || baseUrl).replace(/\/+$/, "");
  const model = optionValue(args, "--model") ?? env["COPILOT_MODEL"] ?? env["COPILOT_PROVIDER_WIRE_MODEL"];
  return {
    api,
    provider: {
      id,
      baseUrl: versioned(address, api),
      from: isSet ? "environment" : "built-in",
      ...keyInEnvironment(env, ...KEYS),
    },
    cwd,
    models: model === undefined ? [] : [model],
    resumes: hasOption(args, "--continue", "--resume"),
    ...(set === undefined ? { refusal: refusalOf(isSet) } : {}),
    launch: (route) =>
      Promise.resolve({
        command,
        args: [...toolArguments(route, request), ...args],
        env: changedEnvironment(env, variablesFor(env, { api, route }), ["COPILOT_PROVIDER_TRANSPORT"]),
      }),
  };
}

function refusalOf(isSet: boolean): NonNullable<WrappedProgram["refusal"]> {
  if (isSet)
    return {
      kind: "place",
      reason:
        "Copilot is set to an Azure provider, whose requests are not governed yet; set COPILOT_PROVIDER_TYPE to openai or anthropic, or run copilot without pagurus wire.",
    };
  return {
    kind: "account",
    reason: `Copilot is set to GitHub's own models, whose address cannot be changed; set ${BASE_URL} (copilot help providers) to a provider of yours, or name a model of ours with --model.`,
  };
}

function variablesFor(
  env: WrapRequest["env"],
  { api, route }: { api: WireApi; route: WrapRoute },
): Record<string, string> {
  const ours = Object.entries(route.headers).map(([name, value]) => `${name}: ${value}`);
  const headers = [...(env[HEADERS] ? [env[HEADERS].trimEnd()] : []), ...ours].join("\n");
  const own = { [BASE_URL]: route.baseUrl, [HEADERS]: headers };
  if (!route.answersAll) return own;
  return {
    ...own,
    COPILOT_PROVIDER_TYPE: api === "anthropic-messages" ? "anthropic" : "openai",
    ...(KEYS.some((name) => env[name]) ? {} : { COPILOT_PROVIDER_API_KEY: NO_KEY }),
  };
}

/** Its option adds to the user's own servers. */
function toolArguments({ tools }: WrapRoute, { env }: WrapRequest): string[] {
  if (!tools) return [];
  const home = env["COPILOT_HOME"] || join(env["HOME"] || homedir(), ".copilot");
  const theirs = recordOf(readSettings(join(home, "mcp-config.json"))["mcpServers"]);
  const name = freeName(tools.name, new Set(Object.keys(theirs)));
  const { command, args } = tools;
  const server = { type: "local", command, args, env: tools.env, tools: ["*"] };
  return [
    "--additional-mcp-config",
    JSON.stringify({ mcpServers: { [name]: server } }),
    `--allow-tool=${name}`,
  ];
}
