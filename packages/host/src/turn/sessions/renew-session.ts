import { isPagurusError } from "@pagurus/contract/errors";
import type { SessionRecord, SessionWriter } from "@pagurus/contract/session/writer";
import { runHooks } from "../guard/turn-hooks.ts";
import { boundThreads, leaveThreads } from "./leave-threads.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** Longest wait of a renewal for another writer of the session, ms. */
const LOCK_WAIT_MS = 1_000;

/**
 * `/new` and `/reset`: a new generation under the same key; the old one stays readable. Throws `session_locked` while a turn runs in the
 * session: its end belongs to the generation it began in.
 */
export async function renewSession(
  host: AgentHost,
  request: { sessionKey?: string; reason: "new" | "reset"; cwd?: string },
): Promise<SessionRecord> {
  const sessionKey = sessionKeyOf(host, request);
  const cwd = request.cwd ?? currentFolder();
  if (!host.store.find(sessionKey)) return host.store.renew(sessionKey, { cwd });
  const writer = lock(host, sessionKey, cwd);
  const old = writer?.record ?? host.store.find(sessionKey);
  const context = { sessionKey, sessionId: old?.sessionId ?? "", agentId: host.agentId };
  const options = { logger: host.logger };
  try {
    await runHooks(host.hooks, "before_reset", { reason: request.reason }, context, options);
    await host.subagents.endChildren(sessionKey, "renewed");
  } finally {
    // The store creates the new generation itself; nothing else in this process runs in between.
    writer?.close();
  }
  if (old) await leaveThreads(host, boundThreads(host, old));
  const record = host.store.renew(sessionKey, { cwd });
  host.started.delete(context.sessionId);
  host.slot.bootstrapped.delete(context.sessionId);
  const payload = { reason: request.reason, nextSessionId: record.sessionId };
  await runHooks(host.hooks, "session_end", payload, context, options);
  return record;
}

/** Also renews a session that cannot be opened for another reason: that is what `/new` is for. */
function lock(host: AgentHost, sessionKey: string, cwd: string): SessionWriter | undefined {
  try {
    return host.store.openWriter(sessionKey, { cwd, create: false, deadlineMs: LOCK_WAIT_MS });
  } catch (error) {
    if (!isPagurusError(error) || error.code === "session_locked") throw error;
    host.logger.warn("session renewed without its lock", { code: error.code });
    return undefined;
  }
}
