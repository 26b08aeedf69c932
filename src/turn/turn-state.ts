import type { PagurusError } from "../contract/errors.ts";
import type { AgentMessage, Usage } from "../contract/message.ts";
import type { Seam } from "../contract/receipt.ts";
import type { ContextSlice } from "../contract/writer.ts";
import { builtInCompaction } from "../compaction/built-in.ts";
import { messagesTokens } from "../tokens/messages.ts";
import { readContext } from "./context-slice.ts";
import { TurnFragments } from "./fragments/turn-fragments.ts";
import { EngineContext } from "./engine-context.ts";
import type { LaneScope } from "./lanes/scope.ts";
import type { Prepared } from "./prepare.ts";
import { completionReceipt, lastUsageOf, type ReceiptSink } from "./receipt-sink.ts";
import { Recorder } from "./record.ts";
import type { Admission } from "./scope.ts";
import type { SettleInput } from "./settle.ts";
import { addUsage, NO_USAGE } from "./usage.ts";
import { SubagentResults } from "./volatile.ts";

export interface TurnParts {
  admission: Admission;
  prepared: Prepared;
  receipts: ReceiptSink;
  deadline: AbortController;
}

/** What the rooms of one turn hand on: made once the turn is admitted and prepared. */
export class TurnState {
  readonly admission: Admission;
  readonly prepared: Prepared;
  readonly receipts: ReceiptSink;
  readonly deadline: AbortController;
  readonly recorder: Recorder;
  readonly context: EngineContext;
  readonly results: SubagentResults;
  readonly fragments: TurnFragments;
  /** How contexts reach the model in this turn, as far as it is known. */
  seam: Seam;
  /** Of all model calls of the turn, those of its engine included. */
  usage: Usage = NO_USAGE;
  /** Estimate of the newest request's context, and how many of the turn's messages it held; undefined before one. */
  sent: { tokens: number; recorded: number } | undefined;
  /** The engine has all earlier turns. */
  caughtUp = false;
  /** A compaction has changed what stands before the turn. */
  compacted = false;
  /** Summary of the last compaction that the run made by itself. */
  autoCompactionSummary: string | undefined;

  constructor(parts: TurnParts) {
    const { admission, prepared, receipts, deadline } = parts;
    this.admission = admission;
    this.prepared = prepared;
    this.receipts = receipts;
    this.deadline = deadline;
    const { turnId, guard, host, model, sessionKey, harness } = admission;
    this.seam = harness.seam;
    this.recorder = new Recorder({
      writer: () => admission.writer,
      turnId,
      guard,
      stop: (error: PagurusError) => deadline.abort(error),
    });
    prepared.plan.recordWith((customType, data) => this.recorder.note(customType, data));
    this.results = new SubagentResults(host.subagents, sessionKey, guard, (childSessionKey) =>
      this.recorder.note("pagurus.subagent_result", { childSessionKey }),
    );
    this.fragments = new TurnFragments({
      turnId,
      writer: () => admission.writer,
      slice: () => this.slice(),
    });
    this.context = this.#engineContext();
    guard.frame = () => this.#frame();
    this.context.noteUsage(lastUsageOf(receipts, model));
  }

  slice(): ContextSlice {
    const { writer, model } = this.admission;
    return readContext(writer, model.contextWindow);
  }

  /** Estimate of the context as it stands now: what was sent last, and what has been said since. */
  contextTokens(): number {
    const { host, model, writer } = this.admission;
    const calibration = host.calibration(writer.record.sessionId, model.ref);
    if (!this.sent) return Math.ceil(calibration.apply(messagesTokens(this.slice().messages)));
    const since = this.recorder.messages.slice(this.sent.recorded);
    return Math.ceil(this.sent.tokens + calibration.apply(messagesTokens(since)));
  }

  noteUsage(usage: Usage): void {
    this.usage = addUsage(this.usage, usage);
    this.context.noteUsage({ usage, at: Date.now() });
    this.#spend(usage);
  }

  /** After a compaction nothing is known of the last call that still holds. */
  noteCompaction(summary: string | undefined, inAttempt: boolean): void {
    this.compacted = true;
    this.context.noteUsage(undefined);
    if (inAttempt) this.autoCompactionSummary = summary;
  }

  settleInput(history: AgentMessage[], turn: AgentMessage[]): SettleInput {
    const { engine, guard, turnId, request, session } = this.admission;
    return {
      engine,
      guard,
      turnId,
      turn,
      context: this.context,
      writer: session.writer,
      history,
      heartbeat: request.heartbeat === true,
      autoCompactionSummary: this.autoCompactionSummary,
    };
  }

  laneScope(): LaneScope {
    const { host, engine, harness, model, guard, session, turnId, signal, emit } = this.admission;
    return {
      host,
      engine,
      harness,
      model,
      guard,
      session,
      signal,
      emit,
      context: this.context,
      tokenBudget: this.prepared.tokenBudget,
      turn: {
        turnId,
        inputEntryId: () => this.recorder.inputEntryId,
        moved: (ids) => {
          this.recorder.moved(ids);
          this.results.moved(ids);
        },
        compacted: (entry) => {
          this.recorder.compaction = entry;
        },
        rebased: (leafBefore) => {
          this.recorder.leafBefore = leafBefore;
        },
      },
    };
  }

  #spend(usage: Usage): void {
    const unwritten = this.admission.cost.spent(usage);
    if (unwritten !== undefined) this.admission.guard.degrade("transcript", unwritten);
  }

  #engineContext(): EngineContext {
    const { host, engine, model, harness, cwd, turnId, session, guard, sessionKey, cost } = this.admission;
    const { prepared } = this;
    return new EngineContext({
      host,
      engine,
      model,
      harness,
      cwd,
      turnId,
      get tokenBudget() {
        return prepared.tokenBudget;
      },
      cost,
      session: () => ({ record: session.writer.record, sessionKey, cursor: session.writer.cursor }),
      degraded: () => guard.degraded,
      onFileFailure: (reason) => guard.degrade("transcript", reason),
      onCompletion: (asked, result) => {
        if (result.usage) this.usage = addUsage(this.usage, result.usage);
        const { tokenBudget } = prepared;
        const turn = { turnId, runtime: harness.id, engine: engine.info.id, tokenBudget };
        this.receipts.append(completionReceipt(this.receipts, asked, result, turn));
      },
    });
  }

  #frame(): ReturnType<NonNullable<Admission["guard"]["frame"]>> {
    return {
      memorySections: this.prepared.memorySections,
      delegateCompaction: (params) => builtInCompaction(params, this.context.runtime()),
    };
  }
}
