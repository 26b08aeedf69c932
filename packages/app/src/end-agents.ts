/** The end of a host's agents and runtimes, at its close and at a reload. */
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import { runHooks } from "@pagurus/host/turn/guard/turn-hooks";
import type { OpenWork } from "@pagurus/host/turn/agent/open-work";
import type { AgentHost } from "@pagurus/host/turn/agent/agent-host";

const DISPOSE_DEADLINE_MS = 10_000;

export async function subagentsEnded(agents: ReadonlyMap<string, AgentHost>): Promise<void> {
  await Promise.all([...agents.values()].map(({ subagents }) => subagents.idle()));
}

/** Resolves at the first moment at which nothing runs. Throws `usage_invalid` once closing has begun. */
export async function untilIdle(work: OpenWork, agents: ReadonlyMap<string, AgentHost>): Promise<void> {
  do {
    await work.settled();
    await subagentsEnded(agents);
    work.assertOpen();
  } while (!work.isIdle);
}

/** Children first, then the sessions' end, then engines and memories, finally the stores. `between`: after the sessions have ended. */
export async function endAgents(
  agents: Map<string, AgentHost>,
  logger: Logger,
  between: () => Promise<void> = async () => undefined,
): Promise<void> {
  for (const agent of agents.values()) {
    await agent.subagents.close();
    await endSessions(agent);
    // Another host may have deleted sessions, which the store has found out meanwhile.
    await agent.deletions.settle();
  }
  await between();
  for (const { slot, memory, store, checkpoints } of agents.values()) {
    await checkpoints.close();
    await slot.dispose().catch(() => logger.warn("engine not disposed", { engineId: slot.id }));
    await memory.dispose().catch(() => logger.warn("memory not disposed", { memory: memory.id }));
    store.close();
  }
  agents.clear();
}

/** A runtime that fails to end is logged. */
export async function endHarnesses(harnesses: Iterable<AgentHarness>, logger: Logger): Promise<void> {
  for (const harness of harnesses) {
    const ending = withDeadline(() => harness.dispose?.(), {
      ms: DISPOSE_DEADLINE_MS,
      label: `Ending ${harness.id}`,
    });
    await ending.catch(() => logger.warn("runtime not disposed", { runtime: harness.id }));
  }
}

async function endSessions(agent: AgentHost): Promise<void> {
  for (const [sessionId, sessionKey] of agent.started) {
    const context = { sessionKey, sessionId, agentId: agent.agentId };
    await runHooks(agent.hooks, "session_end", { reason: "shutdown" }, context, { logger: agent.logger });
  }
}
