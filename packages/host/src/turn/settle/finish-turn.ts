/** The end of a turn: commit, settle with the engine, maintenance, and the last event. */
import type { PagurusError } from "@pagurus/contract/errors";
import type { HarnessTurnResult } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import { turnEnded, type TurnOutcome } from "./end-hooks.ts";
import { engineReport } from "../engine/engine-report.ts";
import { agedIn, contextGauge } from "../context/in-attempt-gauge.ts";
import { detachedCursor, lookGuard } from "../agent/session-look.ts";
import { maintain } from "../engine/engine-maintenance.ts";
import { FALLBACK_ENTRY } from "../record/fallback-entry.ts";
import type { NewEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { appendBetweenTurns } from "../record/append-between-turns.ts";
import { settle } from "../engine/settle-turn.ts";
import type { TurnState } from "../state/turn-state.ts";

export interface BeforeTurn {
  history: AgentMessage[];
}

const LOST = new Set<string | undefined>(["lock_lost", "store_unreachable", "store_full"]);
/** The database is away, or has no space. */
const AWAY = new Set<string>(["store_unreachable", "store_full"]);

/** Commit, settle, maintain, and the turn's last event. Throws what ended the turn. */
export async function finishTurn(state: TurnState, outcome: TurnOutcome, before: BeforeTurn): Promise<void> {
  const { recorder, guard, turnId, host, sessionKey } = state;
  const { cost, request } = state.admitted;
  // It may be continued when the database is back, so it is not recorded as failed.
  if ("error" in outcome && AWAY.has(outcome.error.code)) recorder.abandon(outcome.error);
  const facts = { turnId, engineId: state.engine.info.id, runtime: state.harness.id };
  if (state.signal.aborted || "error" in outcome) await host.subagents.endChildren(sessionKey, "released");
  if ("error" in outcome && recorder.takeBack()) {
    takenBack(state, outcome.error);
    await turnEnded(state, outcome);
    host.logger.debug("context engine maintenance skipped", { ...facts, reason: outcome.error.code });
    throw outcome.error;
  }
  if (isQuietHeartbeat(state, outcome) && recorder.takeBackQuiet()) {
    recordDegradations(state, 0);
    recorder.commit("completed", { settled: true, heartbeat: true });
    await turnEnded(state, outcome);
    if ("result" in outcome) await emitCompleted(state, outcome.result);
    return;
  }
  // From here on degradations follow the commit and belong to the finalization, not to the turn's entries.
  recordDegradations(state, 0);
  const recorded = guard.degraded.length;
  const error = "error" in outcome ? outcome.error : undefined;
  const aborted = "result" in outcome && outcome.result.stopReason === "aborted";
  const committed = recorder.commit(error ? "failed" : aborted ? "aborted" : "completed", {
    code: error?.code,
    heartbeat: request.heartbeat === true,
  });
  if (committed) state.results.delivered();
  const unpaid = cost.close();
  if (unpaid !== undefined) guard.degrade("transcript", unpaid);

  const input = state.settleInput({
    turnId,
    turn: [...recorder.messages],
    history: before.history,
    heartbeat: request.heartbeat === true,
  });
  if (!state.caughtUp) {
    guard.degrade("settle", "an earlier turn is not taken yet; this one is offered after it");
  }
  // The host that has the turn now, or continues it, gives it to its engine.
  const isLost = LOST.has(recorder.failure?.code);
  const settled = state.caughtUp && !isLost && (await settle(input));
  host.logger.debug(`context engine finalize ${settled ? "completed" : "failed"}`, facts);
  if (settled && committed) state.writer.markFinalized(turnId);
  if (settled && !committed) host.slot.takenUncommitted.add(turnId);
  const completed = "result" in outcome && !aborted && outcome.result.stopReason !== "yielded";
  if (settled && committed && completed) await maintainAfter(state);
  else {
    const reason = error?.code ?? (aborted ? "aborted" : "not settled");
    host.logger.debug("context engine maintenance skipped", { ...facts, reason });
  }
  await turnEnded(state, outcome);
  recordDegradations(state, recorded);
  const failure = error ?? recorder.failure;
  if (failure) throw failure;
  if ("result" in outcome) await emitCompleted(state, outcome.result);
}

/** The answer of a heartbeat that found nothing to do. */
const QUIET = "HEARTBEAT_OK";

/** Only where the context is built from the transcript alone: a native thread would keep the turn. */
function isQuietHeartbeat(
  { admitted, harness, recorder, compacted }: TurnState,
  outcome: TurnOutcome,
): boolean {
  if (admitted.request.heartbeat !== true || harness.seam !== "embedded" || compacted) return false;
  if (!("result" in outcome) || outcome.result.stopReason !== "stop") return false;
  const last = recorder.messages.at(-1);
  if (last?.role !== "assistant") return false;
  return (
    last.content
      .map((part) => (part.type === "text" ? part.text : ""))
      .join("")
      .trim() === QUIET
  );
}

function recordDegradations({ guard, recorder }: TurnState, from: number): void {
  for (const degradation of guard.degraded.slice(from)) {
    recorder.degradation({ type: "context.degraded", ...degradation });
  }
}

/** In the foreground the turn waits; in the background the turn ends first. */
async function maintainAfter(state: TurnState): Promise<void> {
  const { context, engine, session, signal, host, sessionKey, cwd, turnId } = state;
  if (engine.info.turnMaintenanceMode !== "background") {
    await maintain(state, "maintain", session, signal);
    return;
  }
  if (!engine.maintain) return;
  const { record } = session.writer;
  // The turn and its writer are gone by then: degradations go to the log, and the session is read again.
  const later = lookGuard(host, engine.info.id, turnId);
  // The built-in compaction writes through a turn, and this one is over.
  later.frame = () => ({ memorySections: state.prepared.memorySections });
  const cursor = detachedCursor(host, sessionKey);
  const detached = context.detached({
    session: () => {
      const now = host.store.find(sessionKey) ?? record;
      const at = { sessionKey, cwd, sessionId: now.sessionId };
      const append = (entry: NewEntry): TranscriptEntry => appendBetweenTurns(host.store, at, entry);
      return { record: now, sessionKey, cursor, append };
    },
    guard: later,
  });
  host.maintenance.start(sessionKey, cwd, { engine, guard: later, context: detached });
}

/** Takes back the input of a turn that failed before any answer: it is not part of the conversation. */
function takenBack(state: TurnState, error: PagurusError): void {
  recordDegradations(state, 0);
  // The entries of the takeovers are on the branch that was taken back.
  for (const fallback of state.fallbacks) state.recorder.note(FALLBACK_ENTRY, { ...fallback });
  state.recorder.commit("failed", { code: error.code, settled: true });
  const detail =
    "your message was not answered. It is saved, but not part of the conversation; send it again";
  state.emit({ type: "notice", kind: "input_taken_back", detail });
}

async function emitCompleted(state: TurnState, result: HarnessTurnResult): Promise<void> {
  const { usage, sessionKey, sessionId, turnId, harness, model, engine, guard, host, tokenBudget } = state;
  const own = state.isKept ? undefined : engine;
  const report = await engineReport(own, { sessionId, sessionKey, tokenBudget });
  const { cost, receipts, runtimeReason } = state.admitted;
  state.emit({
    type: "turn.completed",
    sessionKey,
    sessionId,
    turnId,
    runtime: harness.id,
    runtimeReason,
    seam: state.seam,
    model: model.ref,
    ...(state.fallbacks.length === 0 ? {} : { fallbacks: [...state.fallbacks] }),
    engine: engine.info.id,
    stopReason: result.stopReason === "yielded" ? "stop" : result.stopReason,
    usage,
    degraded: [...guard.degraded],
    context: contextGauge(host, own, model, {
      tokens: state.contextTokens(),
      budget: tokenBudget,
      trigger: report.state?.trigger,
      ...agedIn(receipts.lastOwn()),
    }),
    cost: cost.soFar(),
  });
}
