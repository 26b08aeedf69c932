/** Any program that sends its model requests to a base URL, as its user describes it on the command line. */
import { keyHeader } from "@pagurus/core/model/quirks/key-header";
import { basename } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { SettingOrigin } from "@pagurus/contract/harness/wrap-origin";
import type {
  ProgramDescription,
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRequest,
} from "@pagurus/contract/harness/wrap";
import {
  changedEnvironment,
  findExecutable,
  keyInEnvironment,
  NO_KEY,
  PROVIDERS,
  versioned,
} from "./program-survey.ts";

/** Names of the variables that the providers' own client libraries read. */
export const BASE_URL_VARIABLES: Readonly<Record<WireApi, string>> = {
  "openai-responses": "OPENAI_BASE_URL",
  "openai-completions": "OPENAI_BASE_URL",
  "anthropic-messages": "ANTHROPIC_BASE_URL",
  "google-generative-ai": "GOOGLE_GEMINI_BASE_URL",
};

/** Throws `usage_invalid` for an address that is none. */
function checkedUrl(text: string, from: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, "");
  throw new PagurusError(
    "usage_invalid",
    `The address "${text}" in ${from} is no http or https URL; correct it, or name the provider's with --upstream.`,
  );
}

function upstreamOf(
  { api, upstream, baseUrlEnv }: ProgramDescription,
  { env }: WrapRequest,
): { baseUrl: string; from: SettingOrigin } {
  if (upstream !== undefined) return { baseUrl: checkedUrl(upstream, "--upstream"), from: "arguments" };
  const name = baseUrlEnv ?? BASE_URL_VARIABLES[api];
  const set = env[name];
  return set
    ? { baseUrl: versioned(checkedUrl(set, name), api), from: "environment" }
    : { baseUrl: PROVIDERS[api].baseUrl, from: "built-in" };
}

/** Throws `usage_invalid` if nothing in the description can point the program to the gateway. */
export function describedWrap(command: string, description: ProgramDescription): ProgramWrap {
  const { api } = description;
  const id = programId(command);
  return {
    id,
    label: command === "" ? "The program" : basename(command),
    api,
    survey: async (request) => survey(request, description),
  };
}

/** The name in runtime ids and folders. */
function programId(command: string): string {
  const name = basename(command)
    .replace(/\.(?:exe|cmd|js|mjs|py|sh)$/i, "")
    .toLowerCase()
    .replaceAll(/[^\w-]+/g, "-");
  return name === "" ? "program" : name;
}

function survey(request: WrapRequest, description: ProgramDescription): WrappedProgram {
  const { env, cwd, command } = request;
  const { api, args } = description;
  const path = command === "" ? "" : findExecutable(request);
  const keyEnv = description.keyEnv ?? PROVIDERS[api].keyEnv;
  const { baseUrl, from } = upstreamOf(description, request);
  const isOwn = new URL(baseUrl).host === new URL(PROVIDERS[api].baseUrl).host;
  // The client library of the default variable sends the default key there by itself.
  const isPaired = isOwn || description.keyEnv !== undefined || description.baseUrlEnv === undefined;
  const inKey = args.some((arg) => arg.includes("{url}"));
  return {
    provider: {
      id: isOwn ? PROVIDERS[api].id : new URL(baseUrl).hostname.replaceAll(/[^\w-]+/g, "-"),
      baseUrl,
      from,
      ...(isPaired ? keyInEnvironment(env, keyEnv) : {}),
    },
    ...(inKey && env[keyEnv] ? { credentials: keyHeader(api, env[keyEnv]) } : {}),
    cwd,
    models: [],
    launch: (route) => {
      const own: Record<string, string> = {};
      // An argument is visible to every user of the machine, so the secret goes in the key's place.
      if (inKey) own[keyEnv] = route.token;
      else own[description.baseUrlEnv ?? BASE_URL_VARIABLES[api]] = route.secretUrl;
      if (route.answersAll) own[keyEnv] ??= NO_KEY;
      const pointed = args.map((arg) => arg.replaceAll("{url}", route.baseUrl));
      const launch: WrapLaunch = {
        command: path,
        args: [...pointed, ...request.args],
        env: changedEnvironment(env, own),
      };
      return Promise.resolve(launch);
    },
  };
}
