import type { AgentHost } from "../agent/agent-host.ts";

/** `isResumed`: an earlier deletion of the key had been interrupted, and is finished now. */
export interface DeletedSessions {
  sessions: number;
  bytes: number;
  isResumed?: true;
}

/**
 * Deletes a session permanently: every generation of the key, and its subagents' sessions, from every place that has their words. Notifies
 * plugins of the session's end, and runtimes of the threads bound to it. Throws `session_not_found`, `session_locked`,
 * `store_write_failed`.
 */
export async function deleteSession(host: AgentHost, sessionKey: string): Promise<DeletedSessions> {
  const { store, subagents, deletions } = host;
  await subagents.endChildren(sessionKey, "deleted");
  const resumed = store.find(sessionKey) ? undefined : deletions.takeFinished(sessionKey);
  if (resumed !== undefined) return { sessions: resumed, bytes: 0, isResumed: true };
  const children = subagents.descendants(sessionKey).filter((key) => store.find(key) !== undefined);
  const keys = new Set([sessionKey, ...children]);
  const deleted = store.delete(sessionKey, children);
  for (const [id, key] of host.started) {
    if (!keys.has(key)) continue;
    host.started.delete(id);
    host.slot.bootstrapped.delete(id);
  }
  subagents.forget(sessionKey);
  await deletions.finish();
  deletions.takeFinished(sessionKey);
  return deleted;
}
