/** The end of a turn: its commit, the engine's share of it, maintenance, and the last event. */
import type { PagurusError } from "../contract/errors.ts";
import type { HarnessTurnResult } from "../contract/harness.ts";
import type { AgentMessage } from "../contract/message.ts";
import { EngineContext } from "./engine-context.ts";
import { contextGauge } from "./gauge.ts";
import { detachedCursor, lookGuard } from "./inspect.ts";
import { maintain } from "./maintenance.ts";
import { runtimeKeepsContext } from "./native-context.ts";
import { settle } from "./settle.ts";
import type { TurnState } from "./turn-state.ts";

export type TurnOutcome = { result: HarnessTurnResult } | { error: PagurusError };

export interface BeforeTurn {
  history: AgentMessage[];
}

/** Commit, settle, maintain, and the turn's last event. Throws what ended the turn. */
export async function finishTurn(state: TurnState, outcome: TurnOutcome, before: BeforeTurn): Promise<void> {
  const { admission, recorder } = state;
  const { guard, turnId, host, sessionKey } = admission;
  const facts = { turnId, engineId: admission.engine.info.id, runtime: admission.harness.id };
  if (admission.signal.aborted || "error" in outcome)
    await host.subagents.endChildren(sessionKey, "released");
  if ("error" in outcome && recorder.takeBack()) {
    takenBack(state, outcome.error);
    host.logger.debug("context engine maintenance skipped", { ...facts, reason: outcome.error.code });
    throw outcome.error;
  }
  // From here on degradations come after the commit and belong to the finalization, not to the turn's entries.
  recordDegradations(state, 0);
  const recorded = guard.degraded.length;
  const error = "error" in outcome ? outcome.error : undefined;
  const aborted = "result" in outcome && outcome.result.stopReason === "aborted";
  const committed = recorder.commit(error ? "failed" : aborted ? "aborted" : "completed", {
    code: error?.code,
    heartbeat: admission.request.heartbeat === true,
  });
  if (committed) state.results.delivered();
  const unpaid = admission.cost.close();
  if (unpaid !== undefined) guard.degrade("transcript", unpaid);

  const input = state.settleInput(before.history, [...recorder.messages]);
  if (!state.caughtUp) {
    guard.degrade("settle", "an earlier turn is not taken yet; this one is offered after it");
  }
  const settled = state.caughtUp && (await settle(input));
  host.logger.debug(`context engine finalize ${settled ? "completed" : "failed"}`, facts);
  if (settled && committed) admission.writer.markFinalized(turnId);
  if (settled && !committed) host.slot.takenUncommitted.add(turnId);
  const completed = "result" in outcome && !aborted && outcome.result.stopReason !== "yielded";
  if (settled && committed && completed) await maintainAfter(state);
  else {
    const reason = error?.code ?? (aborted ? "aborted" : "not settled");
    host.logger.debug("context engine maintenance skipped", { ...facts, reason });
  }
  recordDegradations(state, recorded);
  const failure = error ?? recorder.failure;
  if (failure) throw failure;
  if ("result" in outcome) emitCompleted(state, outcome.result);
}

function recordDegradations({ admission, recorder }: TurnState, from: number): void {
  for (const degradation of admission.guard.degraded.slice(from)) {
    recorder.degradation({ type: "context.degraded", ...degradation });
  }
}

/** In the foreground the turn waits; in the background it ends, and the maintenance follows it. */
async function maintainAfter(state: TurnState): Promise<void> {
  const { admission, context } = state;
  const { engine, guard, session, signal, host, sessionKey, cwd, turnId } = admission;
  if (engine.info.turnMaintenanceMode !== "background") {
    await maintain({ engine, guard, context }, "maintain", session, signal);
    return;
  }
  if (!engine.maintain) return;
  const { record } = session.writer;
  // The turn and its writer are gone by then: degradations go to the log, and the session is read anew.
  const later = lookGuard(host, engine.info.id, turnId);
  // The built-in compaction writes through a turn, and this one is over.
  later.frame = () => ({ memorySections: state.prepared.memorySections });
  const cursor = detachedCursor(host, sessionKey);
  const detached = new EngineContext({
    ...context.options,
    session: () => ({ record: host.store.find(sessionKey) ?? record, sessionKey, cursor }),
    onFileFailure: (reason) => later.degrade("transcript", reason),
    degraded: () => [],
  });
  detached.noteUsage(context.lastUsage);
  host.maintenance.start(sessionKey, cwd, { engine, guard: later, context: detached });
}

/** A turn that failed before anything answered it: its input is not part of the conversation. */
function takenBack(state: TurnState, error: PagurusError): void {
  recordDegradations(state, 0);
  state.recorder.commit("failed", { code: error.code, settled: true });
  const detail =
    "The turn failed before anything answered; its input is kept in the transcript but not in the conversation, so it can be sent again.";
  state.admission.emit({ type: "notice", kind: "input_taken_back", detail });
}

function emitCompleted(state: TurnState, result: HarnessTurnResult): void {
  const { admission, prepared, usage } = state;
  const { emit, sessionKey, writer, turnId, harness, model, engine, guard, host, cost } = admission;
  const { sessionId } = writer.record;
  emit({
    type: "turn.completed",
    sessionKey,
    sessionId,
    turnId,
    runtime: harness.id,
    runtimeReason: admission.runtimeReason,
    seam: state.seam,
    model: model.ref,
    engine: engine.info.id,
    stopReason: result.stopReason === "yielded" ? "stop" : result.stopReason,
    usage,
    degraded: [...guard.degraded],
    context: contextGauge(host, runtimeKeepsContext(harness, engine) ? undefined : engine, model, {
      tokens: state.contextTokens(),
      budget: prepared.tokenBudget,
    }),
    cost: cost.soFar(),
  });
}
