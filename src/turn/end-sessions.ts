/** Runs the `session_end` hooks of each session that the process has begun, when the host ends. */
import { runHooks } from "./turn-hooks.ts";
import type { AgentHost } from "./turn-scope.ts";

export async function endSessions(agent: AgentHost): Promise<void> {
  for (const [sessionId, sessionKey] of agent.started) {
    const context = { sessionKey, sessionId, agentId: agent.agentId };
    await runHooks(agent.hooks, "session_end", { reason: "shutdown" }, context, { logger: agent.logger });
  }
}
