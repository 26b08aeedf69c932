import { runHooks, type HookOptions } from "../guard/turn-hooks.ts";
import type { AgentHost } from "./agent-host.ts";

/** Runs the `user_prompt` hooks on an input. Returns why it is blocked; undefined when it may pass. */
export async function inputBlocked(
  host: AgentHost,
  prompt: string,
  ids: { sessionKey: string; sessionId: string | undefined; turnId: string },
  options: HookOptions,
): Promise<string | undefined> {
  if (host.hooks.hooks("user_prompt").length === 0) return undefined;
  const sessionId = ids.sessionId ?? host.store.find(ids.sessionKey)?.sessionId ?? "";
  const context = { ...ids, sessionId, agentId: host.agentId };
  const { blocked, answers } = await runHooks(host.hooks, "user_prompt", { prompt }, context, options);
  if (blocked !== undefined) return blocked;
  const block = answers.find(({ result }) => result.block);
  return block ? block.result.reason || "A hook blocked it without a reason." : undefined;
}
