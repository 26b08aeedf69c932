/** What a lane works with where no turn runs: the session behind a short lock, and the engine's context. */
import { builtInCompaction } from "../../compaction/built-in.ts";
import type { TurnEvent } from "../../contract/events.ts";
import { CostGate, costLimits } from "../cost.ts";
import { EngineContext } from "../engine-context.ts";
import type { Guard } from "../guard.ts";
import { lookGuard, type Surroundings } from "../inspect.ts";
import { LiveSession } from "../live-session.ts";
import { completionReceipt, lastUsageOf } from "../receipt-sink.ts";
import type { AgentHost } from "../scope.ts";
import type { LaneScope } from "./scope.ts";

/** How long a compaction between turns waits for a turn of the session, ms. */
const LOCK_WAIT_MS = 1_000;

/** Close `session` afterwards. Throws `session_locked`, `session_not_found`. */
export function openLane(
  host: AgentHost,
  around: Surroundings,
  at: { sessionKey: string; signal: AbortSignal; emit(event: TurnEvent): void },
): LaneScope {
  const { engine, harness, model, cwd, tokenBudget } = around;
  const { sessionKey, signal, emit } = at;
  const session = new LiveSession(host.store.openWriter(sessionKey, { cwd, deadlineMs: LOCK_WAIT_MS }));
  const guard = lookGuard(host, engine.info.id, "manual", (degradation) =>
    emit({ type: "context.degraded", ...degradation }),
  );
  try {
    const context = engineContext(host, around, session, guard);
    guard.frame = () => ({
      memorySections: around.memorySections,
      delegateCompaction: (params) => builtInCompaction(params, context.runtime()),
    });
    return { host, engine, harness, model, guard, session, context, tokenBudget, signal, emit };
  } catch (error) {
    session.close();
    throw error;
  }
}

/** Like a turn's, so that status tells them. */
export function noteDegradations({ guard, session }: LaneScope): void {
  for (const { stage, reason, engineId } of guard.degraded) {
    const data = { stage, reason, engineId };
    session.writer.append({ type: "custom", customType: "pagurus.degraded", data });
  }
}

/** What the engine is given; the summary's own calls are receipts and costs of the session. */
function engineContext(
  host: AgentHost,
  around: Surroundings,
  session: LiveSession,
  guard: Guard,
): EngineContext {
  const { engine, harness, model, cwd, tokenBudget } = around;
  const { sessionKey } = session.writer.record;
  const turnId = `compaction-${host.newTurnId()}`;
  const limits = costLimits(undefined, host.config.agents?.defaults?.maxCost);
  const turn = { turnId, runtime: harness.id, engine: engine.info.id, tokenBudget };
  const context = new EngineContext({
    host,
    engine,
    model,
    harness,
    cwd,
    tokenBudget,
    cost: new CostGate({
      limits,
      model,
      turnId,
      ledger: host.spend,
      sessionId: () => session.writer.record.sessionId,
    }),
    session: () => ({ record: session.writer.record, sessionKey, cursor: session.writer.cursor }),
    onFileFailure: (reason) => guard.degrade("transcript", reason),
    onCompletion: (asked, result) => {
      const receipts = host.receipts(session.writer.record);
      receipts.append(completionReceipt(receipts, asked, result, turn));
    },
  });
  context.noteUsage(lastUsageOf(host.receipts(session.writer.record), model));
  return context;
}
