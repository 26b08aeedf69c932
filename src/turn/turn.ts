/**
 * The way of a turn: admit, open, prepare, run, record, settle. One direction, the same for every runtime.
 * Source: the design's "The way of a turn".
 */
import type { TurnEvent } from "../contract/events.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { HarnessTurn, HarnessTurnResult } from "../contract/harness.ts";
import type { RunRequest } from "../contract/run.ts";
import type { AgentMessage } from "../contract/message.ts";
import { LONGEST_TIMER_MS } from "../platform/deadline.ts";
import { admit } from "./admit.ts";
import type { TurnChannel } from "./channel.ts";
import { finishTurn, type TurnOutcome } from "./finish.ts";
import { splitLive } from "./live.ts";
import { TurnMailbox } from "./mailbox.ts";
import { open } from "./open.ts";
import { prepare } from "./prepare.ts";
import { safeSink } from "./safe-sink.ts";
import { runHarness } from "./run.ts";
import { noteRunning } from "./running.ts";
import type { Admission, AgentHost } from "./scope.ts";
import { answerOuterCompaction, turnAssembler } from "./turn-assembler.ts";
import { TurnState } from "./turn-state.ts";

/** Runs one turn to its last event. Never throws: a refusal or failure is a `turn.failed` event. */
export async function runTurn(host: AgentHost, request: RunRequest, channel: TurnChannel): Promise<void> {
  const deadline = new AbortController();
  const seconds = host.settings.timeoutSeconds;
  const timer = setTimeout(
    () => {
      deadline.abort(
        new PagurusError(
          "turn_deadline",
          `The turn took longer than ${seconds} s; raise agents.defaults.timeoutSeconds.`,
        ),
      );
    },
    Math.min(seconds * 1000, LONGEST_TIMER_MS),
  );
  const signals = [channel.signal, deadline.signal, ...(request.signal ? [request.signal] : [])];
  const signal = AbortSignal.any(signals);
  let admission: Admission | undefined;
  try {
    const running = await admit(host, request, { signal, emit: (event) => channel.emit(event) });
    admission = running;
    await reachable(admission, channel, () => execute(running, channel, deadline));
  } catch (error) {
    channel.emit(failed(error, admission));
  } finally {
    clearTimeout(timer);
    admission?.session.close();
  }
}

/** Others may steer and stop the turn while the work goes on. */
async function reachable(
  { host, session, sessionKey }: Admission,
  channel: TurnChannel,
  work: () => Promise<void>,
): Promise<void> {
  const forget = noteRunning(host, sessionKey, channel);
  const mailbox = new TurnMailbox(session, channel, host.logger);
  try {
    await work();
  } finally {
    mailbox.close();
    forget();
  }
}

function failed(error: unknown, admission: Admission | undefined): TurnEvent {
  const { code, message } = toPagurusError(error);
  return {
    type: "turn.failed",
    ...(admission
      ? {
          sessionKey: admission.sessionKey,
          sessionId: admission.writer.record.sessionId,
          turnId: admission.turnId,
        }
      : {}),
    error: { code, message },
    degraded: admission?.guard.degraded ?? [],
  };
}

async function execute(admission: Admission, channel: TurnChannel, deadline: AbortController): Promise<void> {
  const { emit, sessionKey, turnId, harness, model, engine } = admission;
  emit({
    type: "turn.started",
    sessionKey,
    sessionId: admission.writer.record.sessionId,
    turnId,
    runtime: harness.id,
    seam: harness.seam,
    model: model.ref,
    engine: engine.info.id,
  });
  const receipts = safeSink(admission);
  const prepared = await prepare(admission, receipts.last());
  const state = new TurnState({ admission, prepared, receipts, deadline });
  const history = state.slice().messages;
  state.caughtUp = await open(admission, state.settleInput(history, []));
  noteModel(admission, history);

  const leafBefore = admission.writer.leafId;
  state.fragments.merge(admission.request.additionalContext, "input");
  const input = state.recorder.message(prepared.input) as HarnessTurn["input"];
  if (state.recorder.failure) throw state.recorder.failure;
  // What stands before the input belongs to it, also when the input is taken back.
  state.recorder.leafBefore = leafBefore;
  emit({ type: "message", message: input });

  const outcome = await drive(state, channel, input);
  await finishTurn(state, outcome, { history: historyNow(state, history) });
}

/** What stands before the turn now: a compaction inside it has made it another. */
function historyNow(state: TurnState, before: AgentMessage[]): AgentMessage[] {
  if (!state.compacted || state.recorder.failure) return before;
  return splitLive(state.slice().messages, state.recorder.inputEntryId).history;
}

/** The session's model, written where it differs from the one that answered last. */
function noteModel({ writer, model }: Admission, history: readonly AgentMessage[]): void {
  const last = history.findLast((message) => message.role === "assistant");
  if (!last || last.role !== "assistant" || last.model === undefined) return;
  if (last.provider === model.provider && last.model === model.id) return;
  writer.append({ type: "model_change", provider: model.provider, modelId: model.id });
}

async function drive(
  state: TurnState,
  channel: TurnChannel,
  input: HarnessTurn["input"],
): Promise<TurnOutcome> {
  const { admission, prepared, recorder, receipts, results, deadline } = state;
  try {
    const assembler = turnAssembler(state);
    const result: HarnessTurnResult = await runHarness({
      admission,
      prepared,
      assembler,
      answerCompaction: (question) => answerOuterCompaction(state, assembler, question),
      recorder,
      receipts,
      input,
      results,
      fragments: state.fragments,
      seam: () => state.seam,
      onSeam: (seam) => {
        state.seam = seam;
      },
      takeSteering: () => channel.takeSteering(),
      closeInputs: () => channel.closeInputs(),
      hasSteering: () => channel.hasSteering(),
      steeringArrives: () => channel.steeringArrives(),
      onUsage: (usage) => state.noteUsage(usage),
      onAssembled: (tokens) => {
        state.sent = { tokens, recorded: recorder.messages.length };
      },
    });
    return result.stopReason === "aborted" && deadline.signal.aborted
      ? { error: deadline.signal.reason as PagurusError }
      : { result };
  } catch (error) {
    if (deadline.signal.aborted) return { error: deadline.signal.reason as PagurusError };
    if (admission.signal.aborted) return { result: { stopReason: "aborted", usage: state.usage } };
    return { error: toPagurusError(error, "runtime_failed") };
  }
}
