import { runHooks } from "./hooks.ts";
import type { AgentHost } from "./scope.ts";

/**
 * Deletes a session for good: every generation of the key, and its subagents' sessions. The engine hears of each
 * child, plugins of the session's end. Throws `session_not_found`, `session_locked`, `store_write_failed`.
 */
export async function deleteSession(
  host: AgentHost,
  sessionKey: string,
): Promise<{ sessions: number; bytes: number }> {
  const record = host.store.find(sessionKey);
  await host.subagents.endChildren(sessionKey, "deleted");
  const children = host.subagents.descendants(sessionKey).filter((key) => host.store.find(key) !== undefined);
  const deleted = { sessions: 0, bytes: 0 };
  for (const key of [...children, sessionKey]) {
    const { sessions, bytes } = host.store.delete(key);
    deleted.sessions += sessions;
    deleted.bytes += bytes;
  }
  host.subagents.forget(sessionKey);
  if (!record) return deleted;
  host.started.delete(record.sessionId);
  host.slot.bootstrapped.delete(record.sessionId);
  const context = { sessionKey, sessionId: record.sessionId, agentId: host.agentId };
  await runHooks(host.hooks, "session_end", { reason: "deleted" }, context, { logger: host.logger });
  return deleted;
}
