/**
 * Environment variables of each program that runs turns: its own settings and its own provider's credentials, in addition to
 * what every child of the host gets. A `*` at the end is a prefix.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** A word of a configuration that may name a variable. */
const VARIABLE_NAME = /\b[A-Z][A-Z0-9_]{2,}\b/g;

/** Codex's own, and those that its configuration names (`env_key`, `env_vars`, `bearer_token_env_var`). */
export function codexVariables(env: Environment): string[] {
  return ["CODEX_*", "OPENAI_*", "RUST_LOG", "RUST_BACKTRACE", ...namedByCodex(env)];
}

function namedByCodex(env: Environment): string[] {
  const folder = env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex");
  try {
    return [...new Set(readFileSync(join(folder, "config.toml"), "utf8").match(VARIABLE_NAME))].toSorted();
  } catch {
    // No configuration of Codex, or an unreadable one: it names none.
    return [];
  }
}

const CLAUDE_OWN =
  "ANTHROPIC_* CLAUDE_* CLAUDECODE AWS_BEARER_TOKEN_BEDROCK MCP_* DISABLE_* ENABLE_* API_TIMEOUT_MS BASH_DEFAULT_TIMEOUT_MS BASH_MAX_* MAX_THINKING_TOKENS MAX_MCP_OUTPUT_TOKENS USE_BUILTIN_RIPGREP".split(
    " ",
  );

/** Claude Code's own, and those of the cloud that it is configured for. */
export function claudeVariables(env: Environment): string[] {
  const uses = (cloud: string): boolean =>
    !["", "0", "false", undefined].includes(env[`CLAUDE_CODE_USE_${cloud}`]);
  return [
    ...CLAUDE_OWN,
    ...(uses("BEDROCK") ? ["AWS_*"] : []),
    ...(uses("VERTEX") ? ["GOOGLE_*", "GCLOUD_*", "CLOUD_ML_REGION", "CLOUDSDK_*", "VERTEX_*"] : []),
    ...(uses("FOUNDRY") ? ["AZURE_*"] : []),
  ];
}

export const GEMINI_VARIABLES = ["GEMINI_*", "GOOGLE_*"];
export const OPENCODE_VARIABLES = ["OPENCODE_*"];
export const COPILOT_VARIABLES = ["COPILOT_*"];
/** Its provider is OpenAI's protocol, whoever serves it. */
export const QWEN_VARIABLES = ["QWEN_*", "OPENAI_*", "DASHSCOPE_*"];
export const PI_VARIABLES = ["PI_*"];
export const DROID_VARIABLES = ["FACTORY_*"];
