import { PagurusError } from "../contract/errors.ts";
import type { MaintenanceReport } from "../contract/host.ts";
import { CostGate, costLimits } from "./cost.ts";
import { EngineContext } from "./engine-context.ts";
import { detachedCursor, lookGuard, surroundings } from "./inspect.ts";
import { completionReceipt, lastUsageOf } from "./receipt-sink.ts";
import type { AgentHost } from "./scope.ts";

/**
 * What the engine does behind a turn, for a session that no turn has to end in. Its model calls pass the cost limits of
 * session and day, and are receipts of the session. Throws `session_not_found`, and what refuses a run.
 */
export async function maintainSession(
  host: AgentHost,
  request: { sessionKey?: string; cwd?: string; signal: AbortSignal },
): Promise<MaintenanceReport> {
  const { sessionKey = "main", signal } = request;
  const record = host.store.find(sessionKey);
  if (!record) {
    throw new PagurusError(
      "session_not_found",
      `There is no session "${sessionKey}" to maintain; see pagurus sessions list.`,
    );
  }
  const turnId = `maintenance-${host.newTurnId()}`;
  const around = await surroundings(host, { cwd: request.cwd, sessionKey, turnId });
  const { engine, harness, model, cwd, tokenBudget } = around;
  if (!engine.maintain)
    return { done: false, reason: `The engine ${engine.info.id} has no work of its own.`, degraded: [] };
  const guard = lookGuard(host, engine.info.id, turnId);
  guard.frame = () => ({ memorySections: around.memorySections });
  const receipts = host.receipts(record);
  const cursor = detachedCursor(host, sessionKey);
  const turn = { turnId, runtime: harness.id, engine: engine.info.id, tokenBudget };
  const context = new EngineContext({
    host,
    engine,
    model,
    harness,
    cwd,
    tokenBudget,
    cost: new CostGate({
      limits: costLimits(undefined, host.config.agents?.defaults?.maxCost),
      model,
      turnId,
      ledger: host.spend,
      sessionId: () => record.sessionId,
    }),
    session: () => ({ record: host.store.find(sessionKey) ?? record, sessionKey, cursor }),
    onFileFailure: (reason) => guard.degrade("transcript", reason),
    onCompletion: (asked, result) => {
      receipts.append(completionReceipt(receipts, asked, result, turn));
    },
  });
  context.noteUsage(lastUsageOf(receipts, model));
  const result = await host.maintenance.now(sessionKey, cwd, { engine, guard, context }, signal);
  const [failure] = guard.degraded;
  const reason = result?.reason ?? failure?.reason;
  return {
    done: result !== undefined,
    ...(reason === undefined ? {} : { reason }),
    degraded: [...guard.degraded],
  };
}
