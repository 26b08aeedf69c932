/** One running turn: the results of the stages admit and prepare, and what has happened since. All later stages work on it. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { ModelFallback } from "@pagurus/contract/fallback";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { CompactionTrigger, TurnEvent } from "@pagurus/contract/host/events";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { AgentMessage, Usage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import type { Seam } from "@pagurus/contract/session/receipt";
import type { ContextSlice, SessionWriter } from "@pagurus/contract/session/writer";
import { builtInCompaction } from "@pagurus/core/compaction/built-in";
import type { Calibration } from "@pagurus/core/tokens/calibration";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import type { ContextScope, Lane, VolatileMessage } from "../context/context-scope.ts";
import { prepareContext, readContext } from "../context/context-slice.ts";
import { EngineContext, type EngineScope, type EngineSource } from "../engine/engine-context.ts";
import type { LaneScope } from "../compaction/lane-scope.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { Guard } from "../guard/guard.ts";
import type { LiveSession } from "../record/live-session.ts";
import type { Recorder } from "../record/record-turn.ts";
import type { NarrowableTools } from "../context/narrowed-tools.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import { lastUsageOf } from "../receipts/receipt-sink.ts";
import { TurnFragments } from "../fragments/turn-fragments.ts";
import { inputText } from "../context/live-messages.ts";
import { runtimeKeepsContext } from "../context/native-context.ts";
import { budgetFor, toolResultLimit } from "../context/context-budget.ts";
import type { Prepared } from "./prepared.ts";
import { addUsage, NO_USAGE } from "@pagurus/core/tokens/add-usage";
import { SubagentResults } from "../context/subagent-messages.ts";
import type { SettleInput } from "../engine/settle-turn.ts";
import type { Admitted } from "./admitted.ts";

export class TurnState implements ContextScope, EngineScope, LaneScope {
  readonly admitted: Admitted;
  readonly prepared: Prepared;
  // Parts of both that contexts, engine calls and compactions use.
  readonly host: AgentHost;
  readonly engine: ContextEngine;
  readonly harness: AgentHarness;
  readonly guard: Guard;
  readonly session: LiveSession;
  readonly recorder: Recorder;
  readonly sessionKey: string;
  readonly turnId: string;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly tools: NarrowableTools;
  readonly system: readonly SystemPiece[];
  /** Changes when a fallback takes over. */
  model: ModelInfo;
  /** The input message: with its entry once that is recorded. */
  input: Prepared["input"];
  /** As prepared, until a measurement of the harness or another model changes them. */
  fixedTokens: number;
  isMeasured: boolean;
  tokenBudget: number;
  readonly context: EngineContext;
  readonly results: SubagentResults;
  readonly fragments: TurnFragments;
  /** The runtime keeps and compacts the context itself. */
  readonly isKept: boolean;
  /** Text of the input, as engines and hooks get it. */
  readonly prompt: string;
  /** How contexts reach the model in this turn, as far as it is known. */
  seam: Seam;
  /** `performance.now()` when the turn was prepared. */
  readonly begun = performance.now();
  /** Usage of all model calls of the turn, including its engine's. */
  usage: Usage = NO_USAGE;
  /** Token estimate of the newest request's context, and how many of the turn's messages it held; undefined before one. */
  #sent: { tokens: number; recorded: number } | undefined;
  #beside = 0;
  /** Additional context of the input: the caller's, and what the host adds. */
  inputContext: RunRequest["additionalContext"];
  /** The engine has all earlier turns. */
  caughtUp = false;
  /** A compaction has changed the history before the turn. */
  compacted = false;
  /** The models that took over in the turn, in order. */
  readonly fallbacks: ModelFallback[] = [];
  /** Summary of the last compaction that the run made by itself. */
  autoCompactionSummary: string | undefined;

  constructor(admitted: Admitted, prepared: Prepared) {
    const { turnId, guard, host, sessionKey, harness, engine, recorder, session } = admitted;
    this.admitted = admitted;
    this.prepared = prepared;
    this.host = host;
    this.engine = engine;
    this.harness = harness;
    this.guard = guard;
    this.session = session;
    this.recorder = recorder;
    this.sessionKey = sessionKey;
    this.turnId = turnId;
    this.cwd = admitted.cwd;
    this.signal = admitted.signal;
    this.tools = prepared.tools;
    this.system = prepared.system;
    this.model = admitted.model;
    this.input = prepared.input;
    this.fixedTokens = prepared.fixedTokens;
    this.isMeasured = prepared.isMeasured;
    this.tokenBudget = prepared.tokenBudget;
    this.seam = harness.seam;
    this.inputContext = admitted.request.additionalContext;
    this.isKept = runtimeKeepsContext(harness, engine);
    this.prompt = inputText(prepared.input);
    this.results = new SubagentResults(host.subagents, sessionKey, guard, (childSessionKey) =>
      recorder.note("pagurus.subagent_result", { childSessionKey }),
    );
    this.fragments = new TurnFragments({ turnId, writer: () => this.writer, slice: () => this.slice() });
    this.context = this.#engineContext();
    guard.frame = () => ({
      memorySections: prepared.memorySections,
      delegateCompaction: (params) => builtInCompaction(params, this.context.runtime()),
    });
  }

  /** The current writer: a compaction may rotate the session. */
  get writer(): SessionWriter {
    return this.session.writer;
  }

  get sessionId(): string {
    return this.writer.record.sessionId;
  }

  /** Entry of the input; undefined while nothing is recorded. */
  get inputEntryId(): string | undefined {
    return this.recorder.inputEntryId;
  }

  get toolResultMaxChars(): number {
    return toolResultLimit(this.host, this.model.contextWindow, this.tokenBudget);
  }

  get volatile(): readonly VolatileMessage[] {
    return this.results.messages;
  }

  readonly emit = (event: TurnEvent): void => this.admitted.channel.emit(event);

  slice(): ContextSlice {
    return readContext(this.writer, this.model.contextWindow);
  }

  /** Reads the lines of the first slice, and lets other turns run between long ones. */
  prepareSlice(): Promise<void> {
    return prepareContext(this.writer, this.model.contextWindow);
  }

  pending(): AgentMessage[] {
    return this.caughtUp ? [] : [...this.writer.unfinalizedTurns()].flatMap((turn) => turn.messages);
  }

  calibration(): Calibration {
    return this.host.calibration(this.writer.record, this.model.ref);
  }

  /** Token estimate of the current context: what was sent last, and the messages since. */
  contextTokens(): number {
    const calibration = this.calibration();
    if (!this.#sent) return Math.ceil(calibration.apply(messagesTokens(this.slice().messages)));
    const since = this.recorder.messages.slice(this.#sent.recorded);
    return Math.ceil(this.#sent.tokens + this.#beside + calibration.apply(messagesTokens(since)));
  }

  /** Sets the tokens of a context that is sent: an estimate, or the provider's count. `recorded`: messages of the turn before it. */
  noteSent(tokens: number, recorded = this.recorder.messages.length): void {
    this.#sent = { tokens, recorded };
    this.#beside = 0;
  }

  /** Sets the tokens that a thread shows beside that context. */
  noteBeside(tokens: number): void {
    this.#beside = tokens;
  }

  /** Sets the measured tokens that the harness itself adds. */
  noteFixed(tokens: number): void {
    if (!Number.isFinite(tokens) || tokens < 0) return;
    this.isMeasured = true;
    this.fixedTokens = tokens;
    this.tokenBudget = budgetFor(this.host, this.model.contextWindow, tokens, this.engine.info);
  }

  /** Another model takes over: its window, prices and token counts apply from now on. */
  useModel(model: ModelInfo): void {
    this.model = model;
    this.tokenBudget = budgetFor(this.host, model.contextWindow, this.fixedTokens, this.engine.info);
    this.admitted.cost.useModel(model);
    this.context.noteUsage(undefined);
    this.#sent = undefined;
  }

  noteUsage(usage: Usage): void {
    this.usage = addUsage(this.usage, usage);
    this.context.noteUsage({ usage, at: Date.now() });
    const unwritten = this.admitted.cost.spent(usage);
    if (unwritten !== undefined) this.guard.degrade("transcript", unwritten);
  }

  settleFragments(sent: readonly AgentMessage[]): boolean {
    return this.recorder.failure === undefined && this.fragments.settle(sent);
  }

  /** Changes the fragments, unless the transcript has failed, which stops the turn by itself. A failure is a degradation. */
  changeFragments(change: (fragments: TurnFragments) => void): void {
    if (this.recorder.failure) return;
    try {
      change(this.fragments);
    } catch (error) {
      this.guard.degrade("transcript", toPagurusError(error).message);
    }
  }

  async compact(lane: Lane, trigger: CompactionTrigger, currentTokens: number): Promise<boolean> {
    const compact =
      lane === "queued"
        ? (await import("../compaction/queued.ts")).compactQueued
        : (await import("../compaction/in-attempt.ts")).compactInAttempt;
    const { compacted, summary } = await compact(this, { trigger, currentTokens });
    if (this.signal.aborted) throw new PagurusError("turn_aborted", "The turn was aborted.");
    if (compacted) this.noteCompaction();
    // Also where it has none: the summary is that of the run's last compaction.
    if (compacted && lane === "in-attempt") this.autoCompactionSummary = summary;
    return compacted;
  }

  /** Drops the last call's values, which a compaction invalidates. */
  noteCompaction(): void {
    this.compacted = true;
    this.context.noteUsage(undefined);
  }

  settleInput(offered: Pick<SettleInput, "turnId" | "turn" | "history" | "heartbeat">): SettleInput {
    const { engine, guard, context, writer, autoCompactionSummary } = this;
    return { engine, guard, context, writer, autoCompactionSummary, ...offered };
  }

  #engineContext(): EngineContext {
    const { turnId, guard, sessionKey, fallbacks } = this;
    const { cost, receipts } = this.admitted;
    const source: EngineSource = {
      turnId,
      fallbacks,
      guard,
      session: () => {
        const { writer } = this;
        const { record, cursor } = writer;
        return { record, sessionKey, cursor, append: (entry) => writer.append(entry) };
      },
      completions: {
        turnId,
        cost,
        receipts: () => receipts,
        onUsage: (usage) => {
          this.usage = addUsage(this.usage, usage);
        },
      },
    };
    return new EngineContext(this, source, lastUsageOf(receipts, this.model));
  }
}
