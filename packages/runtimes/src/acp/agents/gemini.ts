import { GEMINI_STARTS } from "@pagurus/core/native/folder-starts";
import { GEMINI_VARIABLES } from "@pagurus/core/native/own-variables";
import { askingAboutFolders } from "./folder-rule.ts";
import { always, keyOf, type KnownAgent, type ServedModel } from "./known-agent.ts";

function access({ api, endpoint }: ServedModel): Record<string, string> | undefined {
  if (api !== "google-generative-ai") return undefined;
  const baseUrl = endpoint.baseUrl.replace(/\/v1(?:beta)?\/?$/, "");
  return { GEMINI_API_KEY: keyOf(endpoint), GOOGLE_GEMINI_BASE_URL: baseUrl };
}

export const GEMINI_AGENT: KnownAgent = {
  label: "Gemini CLI",
  program: "gemini",
  args: ["--acp"],
  install: "npm install -g @google/gemini-cli",
  modes: always("default"),
  access,
  isReachedByEnv: true,
  strays: /^(?:GEMINI_API_KEY|GOOGLE_API_KEY|GOOGLE_GENAI_USE_\w+|GOOGLE_GEMINI_BASE_URL)$/,
  variables: () => GEMINI_VARIABLES,
  folder: {
    leavesOut: GEMINI_STARTS,
    env: askingAboutFolders("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "/etc/gemini-cli/settings.json"),
  },
  toolsRemedy:
    "trust the folder in Gemini CLI (or set GEMINI_CLI_TRUST_WORKSPACE to true in the agent's env)",
  keys: { "gemini-api-key": "GEMINI_API_KEY" },
};
