import { COPILOT_RUNS } from "@pagurus/core/native/folder-starts";
import { COPILOT_VARIABLES } from "@pagurus/core/native/own-variables";
import { always, keyOf, otherHeaders, type KnownAgent, type ServedModel } from "./known-agent.ts";
import { defined } from "@pagurus/core/data/defined";

/** Its names of the protocols that it speaks to a provider of the user's own. */
const TYPES: Readonly<Record<string, string>> = {
  "anthropic-messages": "anthropic",
  "openai-completions": "openai",
};

function access({ api, id, endpoint }: ServedModel): Record<string, string> | undefined {
  const type = TYPES[api];
  if (type === undefined) return undefined;
  const custom = otherHeaders(endpoint);
  return {
    COPILOT_PROVIDER_TYPE: type,
    COPILOT_PROVIDER_BASE_URL:
      type === "anthropic" ? endpoint.baseUrl.replace(/\/v1\/?$/, "") : endpoint.baseUrl,
    COPILOT_PROVIDER_API_KEY: keyOf(endpoint),
    ...defined({ COPILOT_PROVIDER_HEADERS: custom }),
    COPILOT_MODEL: id,
    // Without it the program looks for a login at GitHub.
    COPILOT_OFFLINE: "true",
  };
}

export const COPILOT_AGENT: KnownAgent = {
  label: "GitHub Copilot",
  program: "copilot",
  args: ["--acp"],
  install: "npm install -g @github/copilot",
  modes: always("https://agentclientprotocol.com/protocol/session-modes#agent"),
  // It rejects servers of a client that are not reached over HTTP.
  takesTools: false,
  access,
  isReachedByEnv: true,
  strays: /^(?:COPILOT_PROVIDER_\w+|COPILOT_GITHUB_TOKEN)$/,
  variables: () => COPILOT_VARIABLES,
  folder: { runs: COPILOT_RUNS },
  modelIn: (env) => env["COPILOT_MODEL"],
};
