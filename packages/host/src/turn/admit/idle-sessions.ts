/** Ends sessions that were not used for the longest time, so that a host's memory does not grow with the conversations that are over. */
import { runHooks } from "../guard/turn-hooks.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { EngineSlot } from "../engine/engine-slot.ts";

/** Sessions that are open in this process at most, besides those with a running turn. */
const MOST_STARTED = 1_000;

type IdleHost = Pick<AgentHost, "agentId" | "background" | "hooks" | "live" | "logger" | "started"> & {
  slot: Pick<EngineSlot, "bootstrapped">;
};

/**
 * Such a session starts again at its next turn, and its engine is bootstrapped again. Returns at once: a slow hook of an idle session does
 * not delay the turn of another one. While the host closes, nothing happens: all sessions end with it.
 */
export function endIdleSessions(host: IdleHost): void {
  if (host.started.size > MOST_STARTED) host.background("end of idle sessions", () => endIdle(host));
}

async function endIdle({ agentId, hooks, live, logger, slot, started }: IdleHost): Promise<void> {
  for (const [sessionId, sessionKey] of started) {
    if (started.size <= MOST_STARTED) return;
    if (live.has(sessionKey)) continue;
    started.delete(sessionId);
    slot.bootstrapped.delete(sessionId);
    await runHooks(hooks, "session_end", { reason: "idle" }, { sessionKey, sessionId, agentId }, { logger });
  }
}
