/** Inputs of a compaction lane between turns: the session under a short lock, and the engine's context. */
import { builtInCompaction } from "@pagurus/core/compaction/built-in";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { contextBetweenTurns } from "../engine/engine-context.ts";
import type { Surroundings } from "./inspect-session.ts";
import { lookGuard } from "../agent/session-look.ts";
import { LiveSession } from "../record/live-session.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { LaneScope } from "../compaction/lane-scope.ts";

/** Longest wait of a compaction between turns for a turn of the session, ms. */
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
    const record = (): SessionRecord => session.writer.record;
    const context = contextBetweenTurns(
      { host, ...around },
      {
        guard,
        session: () => {
          const { writer } = session;
          return {
            record: record(),
            sessionKey,
            cursor: writer.cursor,
            append: (entry) => writer.append(entry),
          };
        },
      },
      { turnId: `compaction-${host.newTurnId()}`, record },
    );
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

/** Records degradations like a turn's, so that `status` shows them. */
export function noteDegradations({ guard, session }: LaneScope): void {
  for (const { stage, reason, engineId } of guard.degraded) {
    const data = { stage, reason, engineId };
    session.writer.append({ type: "custom", customType: "pagurus.degraded", data });
  }
}
