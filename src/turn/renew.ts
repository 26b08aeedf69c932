import type { SessionRecord } from "../contract/store.ts";
import { runHooks } from "./hooks.ts";
import type { AgentHost } from "./scope.ts";

/** `/new` and `/reset`: a new generation under the same key; the old one stays readable. */
export async function renewSession(
  host: AgentHost,
  request: { sessionKey?: string; reason: "new" | "reset"; cwd?: string },
): Promise<SessionRecord> {
  const sessionKey = request.sessionKey ?? "main";
  const old = host.store.find(sessionKey);
  const context = { sessionKey, sessionId: old?.sessionId ?? "", agentId: host.agentId };
  const options = { logger: host.logger };
  if (old) await runHooks(host.hooks, "before_reset", { reason: request.reason }, context, options);
  const record = host.store.renew(sessionKey, { cwd: request.cwd ?? process.cwd() });
  if (old) {
    const payload = { reason: request.reason, nextSessionId: record.sessionId };
    await runHooks(host.hooks, "session_end", payload, context, options);
  }
  return record;
}
