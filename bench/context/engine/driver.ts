/**
 * Drives one engine through a replayed session as the host does: bootstrap, assemble, compaction over the trigger, settle,
 * maintain. Differences to a host: nothing is trimmed, and no state of a provider's cache is reported (the recorded times
 * are not the engine's clock).
 */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contextFromPath } from "../../../packages/core/src/compaction/compaction-context.ts";
import { checkCut } from "../../../packages/core/src/compaction/cut-check.ts";
import { repairPairs } from "../../../packages/core/src/compaction/tool-pairing.ts";
import { inAttemptEnabled, reservedTokens } from "../../../packages/core/src/compaction/policy.ts";
import { planRuntimeCompaction } from "../../../packages/core/src/compaction/runtime-plan.ts";
import { compactionSettings } from "../../../packages/core/src/compaction/compaction-settings.ts";
import type { ContextEngine, ContextEngineFactory } from "../../../packages/contract/src/engine/engine.ts";
import type { AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { messageTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import { inputText, joinLive } from "../../../packages/host/src/turn/context/live-messages.ts";
import { STATIC_TOKENS, type PolicyRun, type PromptBlocks } from "../policy.ts";
import type { ModelCall, RecordedSession } from "../replay/session.ts";
import { EngineParams, type EngineOptions } from "./params.ts";
import { ReplayTranscript } from "./transcript.ts";

/** The context of the path, and which part of it is the live turn. */
interface Slice {
  history: AgentMessage[];
  live: AgentMessage[];
}

export class EngineDriver implements PolicyRun {
  readonly #session: RecordedSession;
  readonly #options: EngineOptions;
  readonly #engine: ContextEngine;
  readonly #dir: string;
  readonly #transcript: ReplayTranscript;
  readonly #tokenBudget: number;
  readonly #params: EngineParams;
  /** Messages of the session that are in the transcript. */
  #written = 0;
  /** Messages of earlier turns that the engine has not ingested. */
  #untaken: AgentMessage[] = [];
  #kept: { result: AssembleResult; prompt: string | undefined } | undefined;
  #callsOfTurn = 0;
  #compactions = 0;
  /** Tokens at which nothing could be compacted; retried when the context has grown by a tenth. */
  #refusedAt = 0;
  #lastInput: number | undefined;

  static async open(
    create: ContextEngineFactory,
    options: EngineOptions,
    session: RecordedSession,
  ): Promise<EngineDriver> {
    const dir = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
    const engine = await create({ config: options.config ?? {}, agentDir: dir, workspaceDir: dir });
    const driver = new EngineDriver(engine, options, session, dir);
    await driver.#bootstrap();
    return driver;
  }

  private constructor(engine: ContextEngine, options: EngineOptions, session: RecordedSession, dir: string) {
    this.#engine = engine;
    this.#options = options;
    this.#session = session;
    this.#dir = dir;
    this.#transcript = new ReplayTranscript("replay", join(dir, "replay.jsonl"));
    const { window } = options;
    this.#tokenBudget = engineBudget(window, engine);
    const { factor } = session;
    const tokenBudget = this.#tokenBudget;
    this.#params = new EngineParams({ options, factor, tokenBudget, transcript: this.#transcript, dir });
  }

  /** History from before the first call is an existing session. */
  async #bootstrap(): Promise<void> {
    const start = this.#session.calls[0]?.liveStart ?? 0;
    if (start === 0) return;
    this.#write(start, "t0");
    this.#transcript.commit({ type: "turn_commit", turnId: "t0", outcome: "completed" });
    await this.#engine.bootstrap?.({ ...this.#params.base(), ...this.#params.files() });
  }

  #write(end: number, turnId: string): void {
    for (const message of this.#session.messages.slice(this.#written, end)) {
      this.#transcript.message(turnId, message);
    }
    this.#written = Math.max(this.#written, end);
  }

  async assemble(call: ModelCall): Promise<PromptBlocks> {
    this.#write(call.end, call.turnId);
    let prompt = await this.#join(call);
    const tokens = this.#tokensOf(prompt);
    const wanted = this.#kept?.result.wantsCompaction === true;
    if ((tokens > this.#trigger || wanted) && (await this.#compactOver(call, tokens, wanted))) {
      prompt = await this.#join(call);
    }
    this.#callsOfTurn++;
    this.#lastInput = STATIC_TOKENS + this.#tokensOf(prompt);
    return prompt;
  }

  /** Tokens of history and live turn from which a compaction is requested. */
  get #trigger(): number {
    const { trigger } = this.#options;
    return trigger === undefined ? this.#tokenBudget : Math.min(this.#tokenBudget, trigger - STATIC_TOKENS);
  }

  async #slice(turnId: string): Promise<Slice> {
    const { messages, liveStart } = await contextFromPath(this.#transcript, turnId);
    return { history: messages.slice(0, liveStart), live: messages.slice(liveStart) };
  }

  async #join(call: ModelCall): Promise<PromptBlocks> {
    const { history, live } = await this.#slice(call.turnId);
    const { info } = this.#engine;
    if (!this.#kept || info.assembleScope === "call") {
      const first = this.#callsOfTurn === 0 && live.length <= 1;
      const before = info.history === "live" ? this.#untaken : history;
      const prompt = first && live[0] ? inputText(live[0]) : undefined;
      const result = await this.#engine.assemble({
        ...this.#params.base(call.turnId, this.#lastInput),
        messages: first ? [...before] : [...before, ...live],
        tokenBudget: this.#tokenBudget,
        availableTools: new Set<string>(),
        citationsMode: "auto",
        model: "replay",
        ...(prompt === undefined ? {} : { prompt }),
      });
      this.#kept = { result, prompt };
    }
    const { result, prompt } = this.#kept;
    const named = result.contextProjection?.epoch;
    return {
      messages: repairPairs(joinLive(result.messages, live, prompt)),
      ...(result.systemPromptAddition ? { addition: result.systemPromptAddition } : {}),
      // A turn-scoped engine's result holds for the whole turn.
      epoch: named ?? `${this.#compactions}`,
    };
  }

  #tokensOf(prompt: PromptBlocks): number {
    const raw = prompt.messages.reduce(
      (sum, message) => sum + messageTokens(message),
      estimateTokens(prompt.addition ?? ""),
    );
    return Math.ceil(raw * this.#session.factor);
  }

  /** Inside a turn the run's own lane, which the engine may intercept; else, and on the engine's request, its `compact`. */
  async #compactOver(call: ModelCall, tokens: number, wanted: boolean): Promise<boolean> {
    if (tokens < this.#refusedAt * 1.1) return false;
    const { info } = this.#engine;
    const inside = !wanted && this.#callsOfTurn > 0 && inAttemptEnabled(info, "default", false);
    const intercepted = inside && info.interceptsCompaction === true && (await this.#intercept(call));
    const made = intercepted || (await this.#compact(call, tokens, wanted));
    this.#refusedAt = made ? 0 : tokens;
    if (!made) return false;
    this.#compactions++;
    this.#kept = undefined;
    this.#callsOfTurn = 0;
    return true;
  }

  async #compact(call: ModelCall, tokens: number, wanted: boolean): Promise<boolean> {
    const answer = await this.#engine.compact({
      ...this.#params.base(call.turnId, this.#lastInput),
      ...this.#params.files(),
      tokenBudget: this.#tokenBudget,
      // Below the budget only the caller's trigger requests it.
      force: !wanted && tokens <= this.#tokenBudget,
      currentTokenCount: tokens,
      compactionTarget: "budget",
    });
    if (!answer.compacted) return false;
    const { summary, firstKeptEntryId, tokensBefore = tokens, origin = "engine" } = answer.result ?? {};
    // An engine may keep its compactions to itself.
    if (summary === undefined || firstKeptEntryId === undefined) return true;
    return this.#take(call, { summary, firstKeptEntryId, tokensBefore, origin });
  }

  async #intercept(call: ModelCall): Promise<boolean> {
    const { keepRecentTokens } = compactionSettings(this.#options.config);
    const { messages, liveStart } = await contextFromPath(this.#transcript, call.turnId);
    const plan = await planRuntimeCompaction({
      messages,
      liveStart,
      keepRecentTokens,
      tokenBudget: this.#tokenBudget,
      tokens: (message) => Math.ceil(messageTokens(message) * this.#session.factor),
    });
    if ("reason" in plan) return false;
    const answer = await this.#engine.interceptCompaction?.({
      ...this.#params.ids(),
      sessionFile: this.#transcript.file,
      contextWindow: this.#options.window,
      ...(this.#lastInput === undefined ? {} : { currentTokenCount: this.#lastInput }),
      firstKeptEntryId: plan.firstKeptEntryId,
      tokensBefore: plan.tokensBefore,
      messages: [...plan.toSummarize],
      trigger: "threshold",
      backend: "embedded",
      signal: new AbortController().signal,
    });
    if (!answer?.handled) return false;
    const { summary, firstKeptEntryId, tokensBefore } = answer;
    return this.#take(call, { summary, firstKeptEntryId, tokensBefore, origin: "engine" });
  }

  /** Writes a summary into the transcript, where the cut is one that the host accepts. */
  async #take(
    call: ModelCall,
    made: {
      summary: string;
      firstKeptEntryId: string;
      tokensBefore: number;
      origin: "model" | "extractive" | "engine";
    },
  ): Promise<boolean> {
    const { messages, liveStart } = await contextFromPath(this.#transcript, call.turnId);
    const cut = checkCut({ messages, liveStart, firstKeptEntryId: made.firstKeptEntryId });
    if ("reason" in cut) return false;
    const split = cut.splitTurnInputId;
    const splitTurn = split === undefined ? {} : { splitTurnInputId: split };
    this.#transcript.compaction({ type: "compaction", ...made, ...splitTurn });
    return true;
  }

  async settle(call: ModelCall): Promise<void> {
    const next = this.#session.calls[call.index + 1];
    const ends = next?.turnId !== call.turnId;
    const { messages } = this.#session;
    // User messages after the results belong to the next call, or open the next turn.
    let end = call.end + 1;
    while (messages[end]?.role === "toolResult") end++;
    this.#write(ends ? end : (next?.end ?? end), call.turnId);
    if (!ends) return;
    await this.#settleTurn(call, messages.slice(call.liveStart, end));
    this.#kept = undefined;
    this.#callsOfTurn = 0;
  }

  async #settleTurn(call: ModelCall, turn: AgentMessage[]): Promise<void> {
    const { turnId } = call;
    const engine = this.#engine;
    // The context is that of the turn's end: a commit makes the turn part of the history.
    const { history } = await this.#slice(turnId);
    const outcome = this.#session.outcomes?.get(turnId) ?? "completed";
    this.#transcript.commit({ type: "turn_commit", turnId, outcome });
    this.#untaken = turn;
    if (engine.commitTurn) await engine.commitTurn(this.#params.commit(turnId, turn, this.#lastInput));
    else if (engine.afterTurn) {
      const before = engine.info.history === "live" ? [] : history;
      await engine.afterTurn({
        ...this.#params.base(turnId, this.#lastInput),
        ...this.#params.files(),
        messages: [...before, ...turn],
        prePromptMessageCount: before.length,
        tokenBudget: this.#tokenBudget,
      });
    } else if (engine.ingestBatch)
      await engine.ingestBatch({ ...this.#params.base(turnId, this.#lastInput), messages: turn });
    else
      for (const message of turn)
        await engine.ingest({ ...this.#params.base(turnId, this.#lastInput), message });
    this.#untaken = [];
    // As in a host: after a successful turn only.
    if (outcome !== "completed") return;
    await engine.maintain?.({ ...this.#params.base(turnId, this.#lastInput), ...this.#params.files() });
  }

  get compactions(): number {
    return this.#compactions;
  }

  /** Folder with what the engine stores. */
  get dir(): string {
    return this.#dir;
  }

  /** What a next turn with this input would be sent. */
  async preview(prompt: string): Promise<AgentMessage[]> {
    const { messages } = await this.#engine.assemble({
      ...this.#params.base(),
      messages: [],
      prompt,
      tokenBudget: this.#tokenBudget,
      availableTools: new Set<string>(),
      citationsMode: "auto",
      model: "replay",
    });
    return messages;
  }

  async close(): Promise<void> {
    await this.#engine.dispose?.();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** The window's rest for history and live turn: less the reserve for the answer, less the static prefix. */
function engineBudget(window: number, engine: ContextEngine): number {
  return Math.max(0, window - reservedTokens(window, undefined, engine.info) - STATIC_TOKENS);
}
