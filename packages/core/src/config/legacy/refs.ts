/**
 * Model refs whose prefix names a runtime, from before runtimes were chosen by policy. Source: agent runtimes, "Codex
 * surfaces", "Runtime selection".
 */
import type { PagurusConfig } from "../config-types.ts";

export interface LegacyRef {
  /** The current form of the ref. */
  ref: string;
  /** The runtime that the prefix means. */
  runtime: string;
}

/** Codex's own login, and the refs that meant it. */
export const CODEX_LOGIN = "openai-codex";

const RUNTIME_PREFIXES: Readonly<Record<string, { provider: string; runtime: string }>> = {
  codex: { provider: "openai", runtime: "codex" },
  [CODEX_LOGIN]: { provider: "openai", runtime: "codex" },
  "codex-cli": { provider: "openai", runtime: "codex" },
  "claude-cli": { provider: "anthropic", runtime: "claude-cli" },
};

/** Undefined for any other ref; a provider configured under such a name, with its `api`, is not legacy. */
export function readLegacyRef(ref: string, { models }: Pick<PagurusConfig, "models">): LegacyRef | undefined {
  const slash = ref.indexOf("/");
  const prefix = ref.slice(0, Math.max(0, slash));
  const id = ref.slice(slash + 1);
  if (id === "" || !Object.hasOwn(RUNTIME_PREFIXES, prefix)) return undefined;
  if (models?.providers?.[prefix]?.api !== undefined) return undefined;
  const meant = RUNTIME_PREFIXES[prefix];
  return meant && { ref: `${meant.provider}/${id}`, runtime: meant.runtime };
}

/** Names of the command-line backends in configurations; each is a runtime if one is registered under it. */
export const CLI_BACKENDS: readonly string[] = ["claude-cli", "codex-cli", "gemini-cli"];
