/**
 * Stages of a turn in order: admit, prepare, open, run, record, settle. The same for every runtime. Source: the design's "The way of a
 * turn".
 */
import type { SessionClaim } from "@pagurus/contract/session/claim";
import type { TurnEvent } from "@pagurus/contract/host/events";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { AgentMessage } from "@pagurus/contract/message";
import { LONGEST_TIMER_MS } from "@pagurus/core/platform/deadline";
import { nextSlice } from "@pagurus/core/platform/pace";
import { admit } from "./admit/admit-turn.ts";
import type { TurnChannel } from "./state/steering-channel.ts";
import type { TurnOutcome } from "./settle/end-hooks.ts";
import { finishTurn } from "./settle/finish-turn.ts";
import { rewoundContext } from "./fragments/rewound-context.ts";
import { splitLive } from "./context/live-messages.ts";
import { TurnMailbox } from "./agent/turn-mailbox.ts";
import { open } from "./open/open-turn.ts";
import { prepare } from "./prepare/prepare-turn.ts";
import { claimSession } from "./sessions/session-claim.ts";
import { runHarness } from "./run/run-harness.ts";
import { noteRunning } from "./sessions/running-turns.ts";
import type { AgentHost } from "./agent/agent-host.ts";
import type { Admitted } from "./state/admitted.ts";
import { TurnState } from "./state/turn-state.ts";

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
  let admitted: Admitted | undefined;
  let claim: SessionClaim | undefined;
  try {
    if (request.sessionKey === undefined) claim = await claimSession(host, { cwd: request.cwd });
    const asked = claim ? { ...request, sessionKey: claim.sessionKey } : request;
    const running = await admit(host, asked, { channel, signal, deadline });
    admitted = running;
    await reachable(running, () => execute(running));
  } catch (error) {
    channel.emit(failed(error, admitted));
  } finally {
    clearTimeout(timer);
    admitted?.checkpoint.end();
    admitted?.session.close();
    claim?.release();
  }
}

/** Lets other callers and processes steer and stop the turn while it runs. */
async function reachable(
  { host, session, sessionKey, channel }: Admitted,
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

function failed(error: unknown, admitted: Admitted | undefined): TurnEvent {
  const { code, message } = toPagurusError(error);
  return {
    type: "turn.failed",
    ...(admitted
      ? {
          sessionKey: admitted.sessionKey,
          sessionId: admitted.session.writer.record.sessionId,
          turnId: admitted.turnId,
        }
      : {}),
    error: { code, message },
    degraded: admitted?.guard.degraded ?? [],
  };
}

async function execute(admitted: Admitted): Promise<void> {
  const { turn, history } = await begin(admitted);
  const outcome = await outcomeOf(turn);
  // Before the last event, after which a host may be closed.
  admitted.checkpoint.end();
  await finishTurn(turn, outcome, { history: historyNow(turn, history) });
}

/** Prepares and opens the turn, and records its input. */
async function begin(admitted: Admitted): Promise<{ turn: TurnState; history: AgentMessage[] }> {
  const { channel, sessionKey, session, turnId, harness, model, engine } = admitted;
  channel.emit({
    type: "turn.started",
    sessionKey,
    sessionId: session.writer.record.sessionId,
    turnId,
    runtime: harness.id,
    seam: harness.seam,
    model: model.ref,
    engine: engine.info.id,
  });
  const turn = new TurnState(admitted, await prepare(admitted));
  await turn.prepareSlice();
  const { messages } = turn.slice();
  const { inputEntryId } = turn;
  const history = inputEntryId === undefined ? messages : splitLive(messages, inputEntryId).history;
  await open(turn, history);
  noteModel(turn, history);
  await nextSlice();
  recordInput(turn);
  // The input may have an image of megabytes: others are served before it is read, measured and sent.
  await nextSlice();
  return { turn, history };
}

function recordInput(turn: TurnState): void {
  const { recorder, writer } = turn;
  const [resumed] = recorder.messages;
  if (resumed?.role === "user") {
    turn.input = resumed as HarnessTurn["input"];
    return;
  }
  const leafBefore = writer.leafId;
  turn.inputContext = contextOf(turn);
  turn.fragments.merge(turn.inputContext, "input");
  turn.input = recorder.message(turn.input) as HarnessTurn["input"];
  if (recorder.failure) throw recorder.failure;
  // Fragments before the input belong to it, also when the input is taken back.
  recorder.leafBefore = leafBefore;
  turn.emit({ type: "message", message: turn.input });
}

/** The context of the caller, that of plugins for this turn, the skills that the input is about, and files that a rewind changed. */
function contextOf(turn: TurnState): RunRequest["additionalContext"] {
  const { host, sessionKey, admitted, prepared } = turn;
  const events = {
    ...prepared.skillHints,
    ...host.plugins.systemEvents.take(host.agentId, sessionKey),
    ...rewoundContext(turn.slice()),
  };
  if (Object.keys(events).length === 0) return admitted.request.additionalContext;
  return { ...admitted.request.additionalContext, ...events };
}

/** The history before the turn: a compaction inside the turn may have changed it. */
function historyNow(turn: TurnState, before: AgentMessage[]): AgentMessage[] {
  if (!turn.compacted || turn.recorder.failure) return before;
  return splitLive(turn.slice().messages, turn.inputEntryId).history;
}

/** Records the session's model when it differs from the one that answered last. */
function noteModel({ writer, model }: TurnState, history: readonly AgentMessage[]): void {
  const last = history.findLast((message) => message.role === "assistant");
  if (!last || last.role !== "assistant" || last.model === undefined) return;
  if (last.provider === model.provider && last.model === model.id) return;
  writer.append({ type: "model_change", provider: model.provider, modelId: model.id });
}

async function outcomeOf(turn: TurnState): Promise<TurnOutcome> {
  const { signal } = turn.admitted.deadline;
  try {
    const result = await runHarness(turn);
    return result.stopReason === "aborted" && signal.aborted
      ? { error: signal.reason as PagurusError }
      : { result };
  } catch (error) {
    if (signal.aborted) return { error: signal.reason as PagurusError };
    if (turn.signal.aborted) return { result: { stopReason: "aborted", usage: turn.usage } };
    return { error: toPagurusError(error, "runtime_failed") };
  }
}
