import { deleteCaptures } from "../config/captures.ts";
import type { SessionRecord } from "../contract/session/writer.ts";
import { runHooks } from "./turn-hooks.ts";
import { boundThreads, leaveThreads, type BoundThread } from "./open/leave-threads.ts";
import type { AgentHost } from "./turn-scope.ts";

/**
 * Deletes a session permanently: every generation of the key, and its subagents' sessions. Notifies the engine of each child, plugins of
 * the session's end, and runtimes of the threads bound to it. Throws `session_not_found`, `session_locked`, `store_write_failed`.
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
      // Earlier generations too: a rotating compaction did not leave their threads.
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
    // Also when a later one could not be deleted: the earlier ones are gone.
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
