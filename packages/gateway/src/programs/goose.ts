/** goose, as its documentation describes it: pointed by the host variable of its provider. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ProgramWrap, WrappedProgram, WrapRefusal, WrapRequest } from "@pagurus/contract/harness/wrap";
import { attempt } from "@pagurus/core/data/attempt";
import { GOOSE_RUNS } from "@pagurus/core/native/folder-starts";
import {
  changedEnvironment,
  checkCommand,
  findExecutable,
  folderFacts,
  hasOption,
  keyInEnvironment,
  placeholderKey,
  PROVIDERS,
} from "./program-survey.ts";
import { checkRuns, projectFiles } from "./project-files.ts";
import { defined } from "@pagurus/core/data/defined";

/** Providers of goose that have a host variable, with their protocols. */
const HOSTS = {
  openai: { variable: "OPENAI_HOST", api: "openai-completions" },
  anthropic: { variable: "ANTHROPIC_HOST", api: "anthropic-messages" },
} as const;
const COMMANDS =
  "configure info acp mcp bench schedule project projects update web completion recipe help".split(" ");

export const gooseWrap: ProgramWrap = {
  id: "goose",
  label: "goose",
  api: "openai-completions",
  survey: async (request) => survey(request),
};

/** A key of goose's configuration, whose simple ones are lines of their own. */
function configured(env: WrapRequest["env"], name: string): string | undefined {
  if (env[name]) return env[name];
  const folder = env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config");
  const text = attempt(() => readFileSync(join(folder, "goose", "config.yaml"), "utf8")) ?? "";
  return new RegExp(`^${name}: *["']?([^"'\\s#]+)`, "m").exec(text)?.[1];
}

function survey(request: WrapRequest): WrappedProgram {
  const { args, env, cwd } = request;
  checkCommand(request, COMMANDS);
  const command = findExecutable(request);
  const named = configured(env, "GOOSE_PROVIDER") ?? "openai";
  const { variable, api } = HOSTS[named === "anthropic" ? "anthropic" : "openai"];
  const model = configured(env, "GOOSE_MODEL");
  // goose asks no question about folders, so the host's own record decides.
  const files = projectFiles(request, { own: undefined, starts: GOOSE_RUNS });
  const host = configured(env, variable)?.replace(/\/+$/, "");
  const { id, baseUrl, keyEnv } = PROVIDERS[api];
  const refusal: WrapRefusal | undefined = Object.hasOwn(HOSTS, named)
    ? undefined
    : {
        kind: "place",
        reason: `goose is set to the provider "${named}", whose requests are not governed yet; set GOOSE_PROVIDER to openai or anthropic, or describe it with --api.`,
      };
  return {
    api,
    provider: {
      id,
      baseUrl: host === undefined ? baseUrl : `${host}/v1`,
      // Its configuration is the user's own file alone.
      from: host === undefined ? "built-in" : env[variable] ? "environment" : "user",
      ...keyInEnvironment(env, keyEnv),
    },
    cwd,
    ...folderFacts(files),
    models: model === undefined ? [] : [model],
    resumes: hasOption(args, "-r", "--resume"),
    ...defined({ refusal }),
    launch: async (route) => {
      checkRuns(request, files, { would: "goose would run hooks of", runs: GOOSE_RUNS });
      const key = placeholderKey(route, env, keyEnv);
      // The slash keeps the last part of the path when goose joins its own to it.
      const address = `${route.secretUrl.replace(/\/v1$/, "")}/`;
      const set = { GOOSE_PROVIDER: named, [variable]: address, ...key };
      return { command, args: [...args], env: changedEnvironment(env, set) };
    },
  };
}
