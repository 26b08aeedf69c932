import { PagurusError } from "@pagurus/contract/errors";
import type { MaintenanceReport } from "@pagurus/contract/host/reports";
import { contextBetweenTurns } from "../engine/engine-context.ts";
import type { NewEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { appendBetweenTurns } from "../record/append-between-turns.ts";
import { maintenanceId } from "../receipts/receipt-sink.ts";
import { surroundings } from "./inspect-session.ts";
import { detachedCursor, lookGuard } from "../agent/session-look.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { defined } from "@pagurus/core/data/defined";

/**
 * Runs the engine's maintenance for a session without a turn. Its model calls pass the cost limits of session and day, and are receipts of
 * the session. Throws `session_not_found`, and what refuses a run.
 */
export async function maintainSession(
  host: AgentHost,
  request: { sessionKey?: string; cwd?: string; signal: AbortSignal },
): Promise<MaintenanceReport> {
  const { signal } = request;
  const sessionKey = sessionKeyOf(host, request);
  const record = host.store.find(sessionKey);
  if (!record) {
    throw new PagurusError(
      "session_not_found",
      `There is no session "${sessionKey}" to maintain; see pagurus sessions list.`,
    );
  }
  const turnId = maintenanceId(host.newTurnId());
  const around = await surroundings(host, { cwd: request.cwd, sessionKey, turnId });
  const { engine, cwd } = around;
  if (!engine.maintain)
    return { done: false, reason: `The engine ${engine.info.id} has no work of its own.`, degraded: [] };
  const guard = lookGuard(host, engine.info.id, turnId);
  guard.frame = () => ({ memorySections: around.memorySections });
  const cursor = detachedCursor(host, sessionKey);
  const context = contextBetweenTurns(
    { host, ...around },
    {
      guard,
      session: () => {
        const now = host.store.find(sessionKey) ?? record;
        const at = { sessionKey, cwd, sessionId: now.sessionId };
        const append = (entry: NewEntry): TranscriptEntry => appendBetweenTurns(host.store, at, entry);
        return { record: now, sessionKey, cursor, append };
      },
    },
    { turnId, record: () => record },
  );
  const result = await host.maintenance.now(sessionKey, cwd, { engine, guard, context }, signal);
  const [failure] = guard.degraded;
  const reason = result?.reason ?? failure?.reason;
  return { done: result !== undefined, ...defined({ reason }), degraded: [...guard.degraded] };
}
