/**
 * The way of a turn: admit, open, prepare, run, record, settle. One direction, the same for every runtime.
 * Source: the design's "The way of a turn".
 */
import type { TurnEvent } from "../contract/events.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { HarnessTurn, HarnessTurnResult } from "../contract/harness.ts";
import type { RunRequest } from "../contract/host.ts";
import type { AgentMessage, Usage } from "../contract/message.ts";
import { LONGEST_TIMER_MS } from "../platform/deadline.ts";
import { readPromptHooks } from "./prompt-hooks.ts";
import { admit } from "./admit.ts";
import { Assembler } from "./assemble.ts";
import type { TurnChannel } from "./channel.ts";
import { compactQueued } from "./compact.ts";
import { engineSessionFile } from "./engine-files.ts";
import { inputText, splitLive } from "./live.ts";
import { readContext } from "./context-slice.ts";
import { open } from "./open.ts";
import { prepare, type Prepared } from "./prepare.ts";
import { Recorder } from "./record.ts";
import { completionReceipt, type ReceiptSink } from "./receipt-sink.ts";
import { runHarness } from "./run.ts";
import { buildRuntimeContext, buildRuntimeSettings, type RuntimeContextInput } from "./runtime-context.ts";
import type { Admission, AgentHost } from "./scope.ts";
import { maintain, settle, type SettleInput } from "./settle.ts";
import { addUsage, NO_USAGE } from "./usage.ts";
import { DEFAULT_TOOL_RESULT_MAX_CHARS } from "../config/defaults.ts";

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
    admission = await admit(host, request, { signal, emit: (event) => channel.emit(event) });
    await new Turn(admission, channel, safeSink(admission), deadline).execute();
  } catch (error) {
    channel.emit(failed(error, admission));
  } finally {
    clearTimeout(timer);
    admission?.writer.close();
  }
}

/** A receipt that cannot be read or written costs the receipt, not the turn. */
function safeSink({ host, writer, guard, turnId }: Admission): ReceiptSink {
  const log = host.receipts(writer.record);
  const safe = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      host.logger.warn("receipt failed", { turnId });
      guard.degrade("transcript", `a receipt failed: ${toPagurusError(error).message}`);
      return undefined;
    }
  };
  return {
    append: (receipt) => safe(() => log.append(receipt)),
    setUsage: (id, request, usage) => safe(() => log.setUsage(id, request, usage)),
    last: () => safe(() => log.last()),
  };
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

class Turn {
  readonly #admission: Admission;
  readonly #channel: TurnChannel;
  readonly #receipts: ReceiptSink;
  readonly #deadline: AbortController;
  readonly #recorder: Recorder;
  #usage: Usage = NO_USAGE;
  #lastUsage: Usage | undefined;
  #compacted = false;

  constructor(admission: Admission, channel: TurnChannel, receipts: ReceiptSink, deadline: AbortController) {
    this.#admission = admission;
    this.#channel = channel;
    this.#receipts = receipts;
    this.#deadline = deadline;
    const { writer, turnId, guard } = admission;
    this.#recorder = new Recorder({ writer, turnId, guard, stop: (error) => deadline.abort(error) });
    const last = receipts.last();
    if (last && last.purpose === undefined && last.model === admission.model.ref)
      this.#lastUsage = last.usage;
  }

  async execute(): Promise<void> {
    const { emit, sessionKey, writer, turnId, harness, model, engine } = this.#admission;
    const { sessionId } = writer.record;
    emit({
      type: "turn.started",
      sessionKey,
      sessionId,
      turnId,
      runtime: harness.id,
      seam: harness.seam,
      model: model.ref,
      engine: engine.info.id,
    });
    const prepared = prepare(this.#admission);
    const history = this.#slice().messages;
    const caughtUp = await open(this.#admission, this.#settleInput(prepared, history, []));
    this.#noteModel(history);

    const leafBefore = writer.leafId;
    const input = this.#recorder.message(prepared.input) as HarnessTurn["input"];
    if (this.#recorder.failure) throw this.#recorder.failure;
    emit({ type: "message", message: input });

    const outcome = await this.#drive(prepared, input);
    await this.#finish(prepared, outcome, {
      history: this.#historyNow(history),
      caughtUp,
      leaf: leafBefore,
    });
  }

  /** What stands before the turn now: a compaction inside it has made it another. */
  #historyNow(before: AgentMessage[]): AgentMessage[] {
    if (!this.#compacted || this.#recorder.failure) return before;
    return splitLive(this.#slice().messages, this.#recorder.inputEntryId).history;
  }

  /** The session's model, written where it differs from the one that answered last. */
  #noteModel(history: readonly AgentMessage[]): void {
    const { writer, model } = this.#admission;
    const last = history.findLast((message) => message.role === "assistant");
    if (!last || last.role !== "assistant" || last.model === undefined) return;
    if (last.provider === model.provider && last.model === model.id) return;
    writer.append({ type: "model_change", provider: model.provider, modelId: model.id });
  }

  #slice(): ReturnType<Admission["writer"]["contextMessages"]> {
    const { writer, model } = this.#admission;
    return readContext(writer, model.contextWindow);
  }

  async #drive(
    prepared: Prepared,
    input: HarnessTurn["input"],
  ): Promise<{ result: HarnessTurnResult } | { error: PagurusError }> {
    const { signal } = this.#admission;
    try {
      const result = await runHarness({
        admission: this.#admission,
        prepared,
        assembler: this.#assembler(prepared),
        recorder: this.#recorder,
        receipts: this.#receipts,
        input,
        takeSteering: () => this.#channel.takeSteering(),
        closeInputs: () => this.#channel.closeInputs(),
        onUsage: (usage) => {
          this.#usage = addUsage(this.#usage, usage);
          this.#lastUsage = usage;
        },
      });
      return result.stopReason === "aborted" && this.#deadline.signal.aborted
        ? { error: this.#deadline.signal.reason as PagurusError }
        : { result };
    } catch (error) {
      if (this.#deadline.signal.aborted) return { error: this.#deadline.signal.reason as PagurusError };
      if (signal.aborted) return { result: { stopReason: "aborted", usage: this.#usage } };
      return { error: toPagurusError(error, "runtime_failed") };
    }
  }

  #assembler(prepared: Prepared): Assembler {
    const { host, engine, guard, model, writer, sessionKey, signal } = this.#admission;
    return new Assembler({
      engine,
      trusted: host.slot.bundled,
      guard,
      model,
      sessionKey,
      sessionId: writer.record.sessionId,
      inputEntryId: this.#recorder.inputEntryId,
      prompt: inputText(prepared.input),
      system: prepared.system,
      tools: prepared.tools.specs,
      tokenBudget: prepared.tokenBudget,
      toolResultMaxChars: host.config.agents?.defaults?.toolResultMaxChars ?? DEFAULT_TOOL_RESULT_MAX_CHARS,
      calibration: host.calibration(writer.record.sessionId, model.ref),
      signal,
      slice: () => this.#slice(),
      pending: () => [...writer.unfinalizedTurns()].flatMap((turn) => turn.messages),
      runtimeContext: () => buildRuntimeContext(this.#contextInput(prepared)),
      runtimeSettings: () => buildRuntimeSettings(this.#contextInput(prepared)),
      promptHooks: readPromptHooks(this.#admission),
      compact: async (trigger, currentTokens) => {
        const { compacted } = await compactQueued({
          host,
          engine,
          guard,
          writer,
          trigger,
          currentTokens,
          inputEntryId: this.#recorder.inputEntryId,
          signal,
          sessionFile: this.#sessionFile(),
          tokenBudget: prepared.tokenBudget,
          runtimeContext: buildRuntimeContext(this.#contextInput(prepared)),
          runtimeSettings: buildRuntimeSettings(this.#contextInput(prepared)),
          emit: (event) => this.#admission.emit(event),
        });
        if (signal.aborted) throw new PagurusError("turn_aborted", "The turn was aborted.");
        if (compacted) {
          this.#lastUsage = undefined;
          this.#compacted = true;
        }
        return compacted;
      },
    });
  }

  #sessionFile(): string {
    const { host, writer, guard } = this.#admission;
    return engineSessionFile(host.slot, writer.record.file, (reason) => guard.degrade("transcript", reason));
  }

  #contextInput(prepared: Prepared): RuntimeContextInput {
    const { host, writer, model, harness, engine, cwd, turnId } = this.#admission;
    return {
      host,
      model,
      cwd,
      turnId,
      sessionId: writer.record.sessionId,
      harnessId: harness.id,
      tokenBudget: prepared.tokenBudget,
      transcript: writer.cursor,
      lastUsage: this.#lastUsage,
      onCompletion: (asked, result) => {
        if (result.usage) this.#usage = addUsage(this.#usage, result.usage);
        const turn = {
          turnId,
          runtime: harness.id,
          engine: engine.info.id,
          tokenBudget: prepared.tokenBudget,
        };
        this.#receipts.append(completionReceipt(this.#receipts, asked, result, turn));
      },
    };
  }

  #settleInput(prepared: Prepared, history: SettleInput["history"], turn: SettleInput["turn"]): SettleInput {
    const { host, engine, guard, writer, turnId, request } = this.#admission;
    return {
      engine,
      guard,
      turnId,
      turn,
      record: writer.record,
      agentId: host.agentId,
      agentDir: host.agentDir,
      sessionFile: this.#sessionFile(),
      history: engine.info.history === "live" ? [] : history,
      tokenBudget: prepared.tokenBudget,
      heartbeat: request.heartbeat === true,
      runtimeContext: buildRuntimeContext(this.#contextInput(prepared)),
      runtimeSettings: buildRuntimeSettings(this.#contextInput(prepared)),
    };
  }

  /** Commit, settle, maintain, and the turn's last event. */
  async #finish(
    prepared: Prepared,
    outcome: { result: HarnessTurnResult } | { error: PagurusError },
    before: { history: SettleInput["history"]; caughtUp: boolean; leaf: string | null },
  ): Promise<void> {
    const { guard, writer, turnId, signal } = this.#admission;
    if ("error" in outcome && this.#recorder.takeBack(before.leaf)) {
      this.#takenBack(outcome.error);
      throw outcome.error;
    }
    // From here on degradations come after the commit and belong to the finalization, not to the turn's entries.
    for (const degradation of guard.degraded)
      this.#recorder.degradation({ type: "context.degraded", ...degradation });
    const recorded = guard.degraded.length;
    const error = "error" in outcome ? outcome.error : undefined;
    const aborted = "result" in outcome && outcome.result.stopReason === "aborted";
    const committed = this.#recorder.commit(
      error ? "failed" : aborted ? "aborted" : "completed",
      error?.code,
    );

    const input = this.#settleInput(prepared, before.history, [...this.#recorder.messages]);
    if (!before.caughtUp)
      guard.degrade("settle", "an earlier turn is not taken yet; this one is offered after it");
    const settled = before.caughtUp && (await settle(input));
    if (settled && committed) writer.markFinalized(turnId);
    if (settled && !committed) this.#admission.host.slot.takenUncommitted.add(turnId);
    const completed = "result" in outcome && !aborted && outcome.result.stopReason !== "yielded";
    if (settled && committed && completed) {
      await maintain(input, "maintain", signal);
    } else {
      this.#admission.host.logger.debug("context engine maintenance skipped", {
        turnId,
        reason: error?.code ?? (aborted ? "aborted" : "not settled"),
      });
    }
    for (const degradation of guard.degraded.slice(recorded)) {
      this.#recorder.degradation({ type: "context.degraded", ...degradation });
    }
    const failure = error ?? this.#recorder.failure;
    if (failure) throw failure;
    if ("result" in outcome) this.#emitCompleted(outcome.result);
  }

  /** A turn that failed before anything answered it: its input is not part of the conversation. */
  #takenBack(error: PagurusError): void {
    const { guard, emit } = this.#admission;
    for (const degradation of guard.degraded) {
      this.#recorder.degradation({ type: "context.degraded", ...degradation });
    }
    this.#recorder.commit("failed", error.code, true);
    const detail =
      "The turn failed before anything answered; its input is kept in the transcript but not in the conversation, so it can be sent again.";
    emit({ type: "notice", kind: "input_taken_back", detail });
  }

  #emitCompleted(result: HarnessTurnResult): void {
    const { emit, sessionKey, writer, turnId, harness, model, engine, guard } = this.#admission;
    emit({
      type: "turn.completed",
      sessionKey,
      sessionId: writer.record.sessionId,
      turnId,
      runtime: harness.id,
      seam: harness.seam,
      model: model.ref,
      engine: engine.info.id,
      stopReason: result.stopReason === "yielded" ? "stop" : result.stopReason,
      usage: this.#usage,
      degraded: [...guard.degraded],
    });
  }
}
