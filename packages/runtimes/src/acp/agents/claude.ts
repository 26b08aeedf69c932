import { CLAUDE_STARTS } from "@pagurus/core/native/folder-starts";
import { claudeVariables } from "@pagurus/core/native/own-variables";
import { always, keyOf, otherHeaders, type KnownAgent, type ServedModel } from "./known-agent.ts";
import { defined } from "@pagurus/core/data/defined";

/** Names of models stay, and so does the folder with its settings. */
const STRAYS =
  /^(?:ANTHROPIC_(?:API_KEY|AUTH_TOKEN|CUSTOM_HEADERS|UNIX_SOCKET|\w*BASE_URL)|CLAUDECODE|CLAUDE_CODE_(?:USE_|OAUTH_|SKIP_|ENTRYPOINT)\w*|AWS_BEARER_TOKEN_BEDROCK)$/;

/** Variables with which the agent offers its model the host's tools at once, and requests no suggestions after each turn. */
const OFFERED = {
  ENABLE_TOOL_SEARCH: "false",
  CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
};

/**
 * Claude Code sends its key in the provider's form only when the key comes from its environment. A model that its list lacks
 * runs only when the environment names it; a config option is mapped to the nearest entry of the list.
 */
function access({ api, id, endpoint }: ServedModel): Record<string, string> | undefined {
  if (api !== "anthropic-messages") return undefined;
  const custom = otherHeaders(endpoint);
  return {
    ANTHROPIC_BASE_URL: endpoint.baseUrl.replace(/\/v1\/?$/, ""),
    ANTHROPIC_API_KEY: keyOf(endpoint),
    ...defined({ ANTHROPIC_CUSTOM_HEADERS: custom }),
    ...(id === "" ? {} : { ANTHROPIC_MODEL: id }),
    ...OFFERED,
  };
}

export const CLAUDE_AGENT: KnownAgent = {
  label: "Claude Agent",
  program: "claude-agent-acp",
  args: [],
  install: "npm install -g @agentclientprotocol/claude-agent-acp",
  modes: always("default"),
  access,
  isReachedByEnv: true,
  strays: STRAYS,
  variables: claudeVariables,
  folder: {
    leavesOut: CLAUDE_STARTS,
    meta: { claudeCode: { options: { settingSources: ["user"] } } },
  },
  modelIn: (env) => env["ANTHROPIC_MODEL"],
};
