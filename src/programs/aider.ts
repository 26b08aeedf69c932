/** aider, as its documentation describes it: pointed by the base URL variables of its client library. */
import type { WireApi } from "../contract/harness/wire.ts";
import type { ProgramWrap, WrappedProgram, WrapRequest } from "../contract/harness/wrap.ts";
import {
  changedEnvironment,
  findExecutable,
  keyIn,
  NO_KEY,
  optionValue,
  PROVIDERS,
} from "./program-survey.ts";

/** Models that aider sends to Anthropic without a prefix. */
const ANTHROPIC_MODEL = /^(?:anthropic\/|claude|sonnet$|opus$|haiku$)/;
const BASE_VARIABLES = {
  "anthropic-messages": "ANTHROPIC_API_BASE",
  "openai-completions": "OPENAI_API_BASE",
} as const satisfies Partial<Record<WireApi, string>>;

export const aiderWrap: ProgramWrap = {
  id: "aider",
  label: "aider",
  api: "openai-completions",
  survey: (request) => Promise.resolve(survey(request)),
};

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  const command = findExecutable(request, "pip install aider-chat");
  const model = optionValue(args, "--model") ?? env["AIDER_MODEL"];
  const api = ANTHROPIC_MODEL.test(model ?? "") ? "anthropic-messages" : "openai-completions";
  const variable = BASE_VARIABLES[api];
  const { id, baseUrl, keyEnv } = PROVIDERS[api];
  const set = env[variable]?.replace(/\/+$/, "");
  const address = api === "anthropic-messages" && set ? `${set.replace(/\/v1$/, "")}/v1` : set;
  return {
    api,
    provider: { id, baseUrl: address || baseUrl, ...keyIn(env, keyEnv) },
    cwd,
    models: model === undefined ? [] : [model.replace(/^(?:anthropic|openai)\//, "")],
    launch: (route) => {
      const key = route.answersAll && !env[keyEnv] ? { [keyEnv]: NO_KEY } : {};
      const set = { [variable]: route.secretUrl, ...key };
      return Promise.resolve({ command, args: [...args], env: changedEnvironment(env, set) });
    },
  };
}
