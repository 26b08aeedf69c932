import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { CODEX_STARTS } from "@pagurus/core/native/folder-starts";
import { codexVariables } from "@pagurus/core/native/own-variables";
import { always, type Env, type KnownAgent, type ServedModel } from "./known-agent.ts";

/** Codex can be configured for an unknown model only in its configuration. */
function access({ api, id, env }: ServedModel): Record<string, string> | undefined {
  if (api !== "openai-responses") return undefined;
  return { CODEX_CONFIG: JSON.stringify({ ...configIn(env), model: id }) };
}

function configIn(env: Env): Record<string, unknown> {
  try {
    return { ...recordOf(JSON.parse(env["CODEX_CONFIG"] ?? "{}")) };
  } catch {
    // The agent would not have read it either.
    return {};
  }
}

export const CODEX_AGENT: KnownAgent = {
  label: "Codex (ACP)",
  program: "codex-acp",
  args: [],
  install: "npm install -g @agentclientprotocol/codex-acp",
  /** In `agent`, its own default, another model decides in our place; `read-only` asks for every write. */
  modes: { ...always("read-only"), auto: "workspace-write" },
  access,
  variables: codexVariables,
  // It passes Codex each folder of a session as trusted.
  folder: { runs: CODEX_STARTS },
  modelIn: (env) => stringOf(configIn(env)["model"]) || undefined,
};
