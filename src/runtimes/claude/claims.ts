/** Which models Claude Code can run here. It is chosen by its id alone and claims none. Starts nothing. */
import type { ModelInfo } from "../../contract/model.ts";
import type { RuntimeTraits, SupportResult } from "../../contract/runtimes.ts";
import { findClaude } from "./find.ts";
import type { ClaudeOptions } from "./options.ts";

/** How long a look at the machine holds, ms: a turn costs none, and an installation is seen soon. */
const LOOK_HOLDS_MS = 10_000;

type SupportOptions = Pick<ClaudeOptions, "env" | "command" | "endpoint" | "login">;

/** `supports` of the harness. */
export function claudeSupports(options: SupportOptions): RuntimeTraits["supports"] {
  let last: { at: number; answer: ReturnType<typeof findClaude> } | undefined;
  const find = (): ReturnType<typeof findClaude> => {
    const now = performance.now();
    if (!last || now - last.at > LOOK_HOLDS_MS) last = { at: now, answer: findClaude(options) };
    return last.answer;
  };
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

/** What keeps the host from the model is told by the host itself. */
function servedByHost({ endpoint }: SupportOptions, model: ModelInfo): boolean {
  try {
    return endpoint(model) !== undefined;
  } catch {
    return true;
  }
}
