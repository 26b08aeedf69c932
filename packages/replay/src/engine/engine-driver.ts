/**
 * Drives one engine through a replayed session as the host does: bootstrap, assemble, compaction over the trigger, settle,
 * maintain. Differences to a host: nothing is trimmed, and no state of a provider's cache is reported (the recorded times
 * are not the engine's clock).
 */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contextFromPath } from "@pagurus/core/compaction/compaction-context";
import { checkCut } from "@pagurus/core/compaction/cut-check";
import { repairPairs } from "@pagurus/core/compaction/tool-pairing";
import { inAttemptEnabled, reservedTokens } from "@pagurus/core/compaction/policy";
import { planRuntimeCompaction } from "@pagurus/core/compaction/runtime-plan";
import { compactionSettings } from "@pagurus/core/compaction/compaction-settings";
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { ContextEngine, ContextEngineFactory } from "@pagurus/contract/engine/engine";
import type { AssembleResult } from "@pagurus/contract/engine/engine-params";
import type { AgentMessage } from "@pagurus/contract/message";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { inputText, joinLive } from "@pagurus/host/turn/context/live-messages";
import { STATIC_TOKENS, type PolicyRun, type PromptBlocks } from "../context-policy.ts";
import type { ModelCall, RecordedSession } from "../recorded-session.ts";
import { delegatedCompaction } from "../replayed-engine.ts";
import { EngineParams, type EngineOptions } from "./driver-params.ts";
import { ReplayTranscript } from "./replay-transcript.ts";
import { defined } from "@pagurus/core/data/defined";

/** The context of the path, and which part of it is the live turn. */
interface Slice {
  history: AgentMessage[];
  live: AgentMessage[];
}

type Compact = (params: CompactParams) => Promise<CompactResult>;

export class EngineDriver implements PolicyRun {
  readonly #session: RecordedSession;
  readonly #options: EngineOptions;
  readonly #engine: ContextEngine;
  readonly #dir: string;
  readonly #transcript: ReplayTranscript;
  readonly #staticTokens: number;
  readonly #tokenBudget: number;
  readonly #params: EngineParams;
  /** Messages of the session by their entry ids. */
  readonly #recorded: ReadonlyMap<string, AgentMessage>;
  /** Number of the session's messages that are in the transcript. */
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
    const dir = mkdtempSync(join(tmpdir(), "pagurus-replay-"));
    try {
      const engine = await create({ config: options.config ?? {}, agentDir: dir, workspaceDir: dir });
      const driver = new EngineDriver(engine, options, session, dir);
      await driver.#bootstrap();
      return driver;
    } catch (error) {
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(engine: ContextEngine, options: EngineOptions, session: RecordedSession, dir: string) {
    this.#engine = engine;
    this.#options = options;
    this.#session = session;
    this.#dir = dir;
    this.#recorded = new Map(session.messages.map((message) => [message.entryId ?? "", message]));
    this.#transcript = new ReplayTranscript("replay", join(dir, "replay.jsonl"));
    const { window } = options;
    this.#staticTokens = options.staticTokens ?? STATIC_TOKENS;
    this.#tokenBudget = Math.max(0, engineBudget(window, engine) - this.#staticTokens);
    const { factor } = session;
    const tokenBudget = this.#tokenBudget;
    this.#params = new EngineParams({ options, factor, tokenBudget, transcript: this.#transcript, dir });
  }

  /** History from before the first call is an existing session. */
  async #bootstrap(): Promise<void> {
    const { calls, messages } = this.#session;
    const start = calls[0]?.liveStart ?? 0;
    if (start === 0) return;
    for (let end = 1, turn = 0; end <= start; end++) {
      if (end < start && messages[end]?.role !== "user") continue;
      const turnId = `before${turn++}`;
      this.#write(end, turnId);
      this.#transcript.commit({ type: "turn_commit", turnId, outcome: "completed" });
    }
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
    this.#lastInput = this.#staticTokens + this.#tokensOf(prompt);
    return prompt;
  }

  /** Tokens of history and live turn from which a compaction is requested. */
  get #trigger(): number {
    const { trigger } = this.#options;
    return trigger === undefined
      ? this.#tokenBudget
      : Math.min(this.#tokenBudget, trigger - this.#staticTokens);
  }

  async #slice(turnId: string): Promise<Slice> {
    const path = await contextFromPath(this.#transcript, turnId);
    // Tokens and blocks are cached by object.
    const messages = path.messages.map((message) => this.#recorded.get(message.entryId ?? "") ?? message);
    return { history: messages.slice(0, path.liveStart), live: messages.slice(path.liveStart) };
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
        availableTools: new Set(this.#options.tools),
        citationsMode: "auto",
        model: "replay",
        ...defined({ prompt }),
      });
      this.#kept = { result, prompt };
    }
    const { result, prompt } = this.#kept;
    const { epoch, fingerprint } = result.contextProjection ?? {};
    const named = fingerprint ?? epoch;
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

  /**
   * Inside a turn the run's own lane: the engine intercepts it, or the host's built-in compaction runs. Else, and on the engine's
   * request, its `compact`.
   */
  async #compactOver(call: ModelCall, tokens: number, wanted: boolean): Promise<boolean> {
    if (tokens < this.#refusedAt * 1.1) return false;
    const { info } = this.#engine;
    const inside = !wanted && this.#callsOfTurn > 0 && inAttemptEnabled(info, "default", false);
    const intercepted = inside && info.interceptsCompaction === true && (await this.#intercept(call));
    // Below the budget only the caller's trigger requests it.
    const force = !wanted && tokens <= this.#tokenBudget;
    const isHosts = inside && info.interceptsCompaction !== true;
    const compact: Compact = isHosts ? delegatedCompaction : (params) => this.#engine.compact(params);
    const made = intercepted || (await this.#compact(call, { tokens, force, compact }));
    this.#refusedAt = made ? 0 : tokens;
    if (made) this.#compacted();
    return made;
  }

  /** Compacts before a call as on a user's request; false where the engine did not. */
  async compactNow(call: ModelCall): Promise<boolean> {
    const tokens = this.#tokensOf(await this.assemble(call));
    const compact: Compact = (params) => this.#engine.compact(params);
    const made = await this.#compact(call, { tokens, force: true, compact });
    if (made) this.#compacted();
    return made;
  }

  #compacted(): void {
    this.#compactions++;
    this.#kept = undefined;
    this.#callsOfTurn = 0;
  }

  async #compact(
    call: ModelCall,
    { tokens, force, compact }: { tokens: number; force: boolean; compact: Compact },
  ): Promise<boolean> {
    const answer = await compact({
      ...this.#params.base(call.turnId, this.#lastInput),
      ...this.#params.files(),
      tokenBudget: this.#tokenBudget,
      force,
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
      ...defined({ currentTokenCount: this.#lastInput }),
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
    try {
      await this.#engine.dispose?.();
    } finally {
      await rm(this.#dir, { recursive: true, force: true });
    }
  }
}

/** The window's rest beside the reserve for the answer. */
function engineBudget(window: number, engine: ContextEngine): number {
  return window - reservedTokens(window, undefined, engine.info);
}
