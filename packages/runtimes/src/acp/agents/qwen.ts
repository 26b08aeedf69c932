import { QWEN_STARTS } from "@pagurus/core/native/folder-starts";
import { QWEN_VARIABLES } from "@pagurus/core/native/own-variables";
import { askingAboutFolders } from "./folder-rule.ts";
import { always, keyOf, type KnownAgent, type ServedModel } from "./known-agent.ts";

function access({ api, id, endpoint }: ServedModel): Record<string, string> | undefined {
  if (api !== "openai-completions") return undefined;
  return { OPENAI_BASE_URL: endpoint.baseUrl, OPENAI_API_KEY: keyOf(endpoint), OPENAI_MODEL: id };
}

export const QWEN_AGENT: KnownAgent = {
  label: "Qwen Code",
  program: "qwen",
  args: ["--acp"],
  install: "npm install -g @qwen-code/qwen-code",
  /** In `auto`, its own default, another model decides in our place. */
  modes: always("default"),
  access,
  isReachedByEnv: true,
  strays: /^OPENAI_\w+$/,
  variables: () => QWEN_VARIABLES,
  folder: {
    leavesOut: QWEN_STARTS,
    env: askingAboutFolders("QWEN_CODE_SYSTEM_SETTINGS_PATH", "/etc/qwen-code/settings.json"),
  },
  toolsRemedy: "trust the folder (pagurus trust add)",
  modelIn: (env) => env["OPENAI_MODEL"],
  keys: { openai: "OPENAI_API_KEY" },
};
