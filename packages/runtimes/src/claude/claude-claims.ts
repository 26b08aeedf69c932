/** Which models Claude Code can run here. It is selected by its id alone and claims none. Starts no program. */
import type { ModelInfo } from "@pagurus/contract/model";
import type { RuntimeTraits, SupportResult } from "@pagurus/contract/harness/runtimes";
import { remembered } from "../thread/thread-harness.ts";
import { findClaude } from "./find-claude.ts";
import type { ClaudeOptions } from "./claude-options.ts";

type SupportOptions = Pick<ClaudeOptions, "env" | "command" | "endpoint" | "login">;

/** `supports` of the harness. */
export function claudeSupports(options: SupportOptions): RuntimeTraits["supports"] {
  const find = remembered(() => findClaude(options));
  return (model): SupportResult => {
    const { api, ref } = model;
    if (api !== "anthropic-messages") {
      const reason = `Claude Code speaks the Messages API of Anthropic and ${ref} is served over ${api}.`;
      return { supported: false, reason };
    }
    const found = find();
    if ("reason" in found) return { supported: false, reason: found.reason };
    if (servedByHost(options, model)) return { supported: true };
    if (options.login === "own") return { supported: true, login: "own" };
    const reason = `The host has no key for ${ref}, and Claude Code's own login is used only where plugins.entries.claude-cli.config.login is "own"; set ANTHROPIC_API_KEY, or that.`;
    return { supported: false, reason };
  };
}

/** A failure of the host's own access is reported by the host. */
function servedByHost({ endpoint }: SupportOptions, model: ModelInfo): boolean {
  try {
    return endpoint(model) !== undefined;
  } catch {
    return true;
  }
}
