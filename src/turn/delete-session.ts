import { deleteCaptures } from "../config/captures.ts";
import type { SessionRecord } from "../contract/writer.ts";
import { runHooks } from "./hooks.ts";
import { boundThreads, leaveThreads, type BoundThread } from "./leave-threads.ts";
import type { AgentHost } from "./scope.ts";

/**
 * Deletes a session for good: every generation of the key, and its subagents' sessions. The engine hears of each
 * child, plugins of the session's end, runtimes of the threads that they were bound to. Throws `session_not_found`,
 * `session_locked`, `store_write_failed`.
 */
export async function deleteSession(
  host: AgentHost,
  sessionKey: string,
): Promise<{ sessions: number; bytes: number }> {
  await host.subagents.endChildren(sessionKey, "deleted");
  const children = host.subagents.descendants(sessionKey).filter((key) => host.store.find(key) !== undefined);
  const deleted = { sessions: 0, bytes: 0 };
  const ended: SessionRecord[] = [];
  const left: BoundThread[] = [];
  try {
    for (const key of [...children, sessionKey]) {
      const record = host.store.find(key);
      // Of earlier generations too: one that a rotating compaction ended was never left.
      const generations = host.store.list().filter(({ sessionKey: of }) => of === key);
      const threads = generations.flatMap((generation) => boundThreads(host, generation));
      const { sessions, bytes } = host.store.delete(key);
      deleteCaptures(host.home, host.agentId, key);
      deleted.sessions += sessions;
      deleted.bytes += bytes;
      left.push(...threads);
      if (record) ended.push(record);
    }
    host.subagents.forget(sessionKey);
  } finally {
    // Also when a later one could not be deleted: these are gone.
    await leaveThreads(host, left);
    for (const record of ended) await sayEnded(host, record);
  }
  return deleted;
}

async function sayEnded(host: AgentHost, { sessionKey, sessionId }: SessionRecord): Promise<void> {
  host.started.delete(sessionId);
  host.slot.bootstrapped.delete(sessionId);
  const context = { sessionKey, sessionId, agentId: host.agentId };
  await runHooks(host.hooks, "session_end", { reason: "deleted" }, context, { logger: host.logger });
}
