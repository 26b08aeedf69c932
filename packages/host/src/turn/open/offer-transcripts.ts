import type { TranscriptSource } from "../../plugin/compat/transcripts.ts";
import { detachedCursor } from "../agent/session-look.ts";
import type { AgentHost } from "../agent/agent-host.ts";

/** The sessions of a host's agents as engines may ask for them: the active path, current generations only. */
export function transcriptSource(agents: () => Iterable<AgentHost>): TranscriptSource {
  return ({ agentId, sessionId, sessionKey, storePath }) => {
    for (const agent of agents()) {
      if (agentId !== undefined && agentId !== agent.agentId) continue;
      if (storePath !== undefined && storePath !== agent.agentDir) continue;
      const record = sessionKey === undefined ? undefined : agent.store.find(sessionKey);
      if (!record || (sessionId !== undefined && record.sessionId !== sessionId)) continue;
      return detachedCursor(agent, record.sessionKey).forward();
    }
    return undefined;
  };
}
