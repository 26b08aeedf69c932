/** Drives the engine as the host does, call by call, and records every context that a model would receive. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contextFromPath } from "../../../packages/core/src/compaction/compaction-context.ts";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { checkCut } from "../../../packages/core/src/compaction/cut-check.ts";
import { isValidSequence, repairPairs } from "../../../packages/core/src/compaction/tool-pairing.ts";
import type { AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { engineEntryType } from "../../../packages/contract/src/session/engine-entry.ts";
import type {
  CompactionEntry,
  CustomEntry,
  NewEntry,
  TranscriptEntry,
} from "../../../packages/contract/src/session/transcript.ts";
import type { RuntimeContext } from "../../../packages/contract/src/engine/runtime-context.ts";
import {
  createLosslessEngine,
  type LosslessOptions,
} from "../../../packages/lossless/src/lossless-engine.ts";
import type { LosslessStore } from "../../../packages/lossless/src/store/lossless-store.ts";
import { commitParams } from "../../../packages/testkit/src/engine/commit.ts";
import { StageTranscript } from "../../../packages/testkit/src/engine/scripted-transcript.ts";
import { messagesTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { joinLive, placeVolatile } from "../../../packages/host/src/turn/context/live-messages.ts";

export interface Sent {
  messages: AgentMessage[];
  /** One string per message, without entry ids. */
  bytes: string[];
  /** Name of its beginning: it changes where that does. */
  epoch: string;
  tokens: number;
  result: AssembleResult;
  /** True for the first call of its turn. */
  isFirst: boolean;
}

export interface DriveOptions {
  budget?: number;
  config?: Record<string, unknown>;
  llm?: LlmComplete;
  engine?: LosslessOptions;
}

/** A path with rewinds: entries have unique ids, whatever was at their place before. */
class Path extends StageTranscript {
  #count = 0;
  /** Every entry, on or off the path. */
  readonly written: TranscriptEntry[] = [];

  override append(entry: NewEntry): TranscriptEntry {
    const parentId = this.entries.at(-1)?.id ?? null;
    const made = super.append(entry);
    this.#count += 1;
    made.id = `entry${String(this.#count).padStart(5, "0")}`;
    made.parentId = parentId;
    this.written.push(made);
    return made;
  }

  async *ofEngine(engineId: string): AsyncGenerator<CustomEntry | CompactionEntry> {
    const customType = engineEntryType(engineId);
    for (const entry of this.written.toReversed())
      if (entry.type === "compaction" || (entry.type === "custom" && entry.customType === customType))
        yield structuredClone(entry);
  }

  /** Continues the conversation after this entry. */
  rewind(targetId: string): void {
    this.entries.splice(this.entries.findIndex(({ id }) => id === targetId) + 1);
  }
}

export class Drive {
  readonly dir = mkdtempSync(join(tmpdir(), "pagurus-lossless-"));
  readonly transcript = new Path("session0001", join(this.dir, "host", "session0001.jsonl"));
  readonly sent: Sent[] = [];
  /** What the engine reported. */
  readonly degraded: string[] = [];
  engine: ContextEngine;
  store: LosslessStore | undefined;
  budget: number;
  llm: LlmComplete;
  compactions = 0;
  /** The runtime; another one than the own loop may hold the context in a thread. */
  harness = "embedded";
  /** True when the host compacts at the engine's request, or when the context is over its budget. */
  obeys = true;
  promptCache: RuntimeContext["promptCache"];
  volatile: { message: AgentMessage; after: string | undefined }[] = [];
  #turns = 0;
  readonly #options: DriveOptions;

  constructor(options: DriveOptions = {}) {
    this.#options = options;
    this.budget = options.budget ?? 20_000;
    this.llm = options.llm ?? (() => Promise.reject(new Error("no model")));
    this.engine = this.#open();
  }

  #open(): ContextEngine {
    return createLosslessEngine(
      { agentDir: join(this.dir, "agent"), config: this.config },
      { ...this.#options.engine, onStore: (store) => (this.store = store) },
    );
  }

  get config(): unknown {
    return {
      agents: { defaults: { model: "test/model" } },
      plugins: { entries: { lossless: { config: this.#options.config ?? {} } } },
    };
  }

  get lossless(): LosslessStore {
    assert.ok(this.store);
    return this.store;
  }

  async restart(): Promise<void> {
    await this.engine.dispose?.();
    this.reopen();
  }

  reopen(): void {
    this.engine = this.#open();
  }

  async end(): Promise<void> {
    await this.engine.dispose?.();
    rmSync(this.dir, { recursive: true, force: true });
  }

  context(extra: Partial<RuntimeContext> = {}): RuntimeContext {
    return {
      config: this.config,
      provider: "test",
      model: "test/model",
      modelId: "model",
      agentId: "main",
      agentHarnessId: this.harness,
      cwd: this.dir,
      contextWindow: this.budget + 4_000,
      tokenBudget: this.budget,
      tokens: (value) =>
        typeof value === "string" ? estimateTokens(value) : messagesTokens([value].flat() as AgentMessage[]),
      llm: { complete: this.llm },
      allowDeferredCompactionExecution: true,
      transcript: this.transcript,
      remember: (data) => this.remember(data),
      degraded: (sentence) => void this.degraded.push(sentence),
      ...(this.promptCache ? { promptCache: this.promptCache } : {}),
      ...extra,
    };
  }

  /** Appends an entry of the engine, as parsed from a line of the file. */
  remember(data: unknown): string {
    const parsed: unknown = JSON.parse(JSON.stringify(data));
    return this.transcript.append({ type: "custom", customType: engineEntryType("lossless"), data: parsed })
      .id;
  }

  params(extra: Partial<RuntimeContext> = {}): {
    sessionId: string;
    sessionKey: string;
    sessionFile: string;
    runtimeContext: RuntimeContext;
  } {
    const { sessionId, file } = this.transcript;
    return { sessionId, sessionKey: "main", sessionFile: file, runtimeContext: this.context(extra) };
  }

  begin(input: AgentMessage): string {
    this.#turns += 1;
    const turnId = `turn${String(this.#turns).padStart(5, "0")}`;
    this.append(turnId, input);
    return turnId;
  }

  append(turnId: string, message: AgentMessage): string {
    return this.transcript.append({ type: "message", turnId, message }).id;
  }

  /** One model call: assembles, compacts at the engine's request or over the budget, joins, checks. */
  async call(turnId: string): Promise<Sent> {
    let sent = await this.#assemble(turnId);
    if (await this.#compactIfNeeded(turnId, sent)) sent = await this.#assemble(turnId);
    assert.equal(isValidSequence(sent.messages), undefined);
    this.sent.push(sent);
    return sent;
  }

  /** As the host: the engine's requests and the first call of a turn use the queued lane, others the run's own check. */
  async #compactIfNeeded(turnId: string, { tokens, result, isFirst }: Sent): Promise<boolean> {
    if (!this.obeys || (result.wantsCompaction !== true && tokens <= this.budget)) return false;
    if (result.wantsCompaction === true || isFirst) return this.#compactQueued(turnId, tokens);
    return this.#intercept(turnId, tokens);
  }

  async live(turnId: string): Promise<AgentMessage[]> {
    const { messages, liveStart } = await contextFromPath(this.transcript, turnId);
    return placeVolatile(messages.slice(liveStart), this.volatile);
  }

  /** The context of a call whose host has no database: it has the log alone, calls no model and writes nothing. */
  async withoutDatabase(turnId: string): Promise<Sent> {
    const agentDir = mkdtempSync(join(this.dir, "without-"));
    const engine = createLosslessEngine({ agentDir, config: this.config });
    const complete: LlmComplete = () => assert.fail("a model was called");
    try {
      const { remember: _remember, ...context } = this.context({ turnId, llm: { complete } });
      return await this.#assemble(turnId, engine, context);
    } finally {
      await engine.dispose?.();
      rmSync(agentDir, { recursive: true });
    }
  }

  /** Deletes the database while no process has it open. */
  async loseDatabase(): Promise<void> {
    await this.engine.dispose?.();
    rmSync(join(this.dir, "agent"), { recursive: true, force: true });
    this.reopen();
  }

  async #assemble(
    turnId: string,
    engine = this.engine,
    runtimeContext = this.context({ turnId }),
  ): Promise<Sent> {
    const live = await this.live(turnId);
    const first = live.filter(({ entryId }) => entryId !== undefined).length <= 1;
    const input = live.find(({ role }) => role === "user");
    const prompt = first && input ? textOf(input) : undefined;
    const result = await engine.assemble({
      ...this.params(),
      runtimeContext,
      messages: first ? live.filter(({ entryId }) => entryId === undefined) : live,
      tokenBudget: this.budget,
      availableTools: new Set(["context_search"]),
      ...(prompt === undefined ? {} : { prompt }),
    });
    const messages = repairPairs(joinLive(result.messages, live, prompt));
    const bytes = messages.map(({ entryId: _entry, timestamp: _time, ...rest }) => JSON.stringify(rest));
    const epoch = result.contextProjection?.fingerprint ?? "";
    return { messages, bytes, epoch, tokens: messagesTokens(messages), result, isFirst: first };
  }

  /** The queued lane. */
  async #compactQueued(turnId: string, tokens: number): Promise<boolean> {
    const { ok, compacted, result, reason } = await this.engine.compact({
      ...this.params({ turnId }),
      tokenBudget: this.budget,
      currentTokenCount: tokens,
      compactionTarget: "budget",
      force: false,
    });
    assert.equal(ok, true, reason);
    if (!compacted) return false;
    const { summary = "", firstKeptEntryId = "", details } = result ?? {};
    return this.#record(turnId, tokens, { summary, firstKeptEntryId, details });
  }

  async #intercept(turnId: string, tokens: number): Promise<boolean> {
    const { messages } = await contextFromPath(this.transcript, turnId);
    const { sessionId, sessionKey, sessionFile } = this.params();
    const answer = await this.engine.interceptCompaction?.({
      sessionId,
      sessionKey,
      sessionFile,
      contextWindow: this.budget + 4_000,
      currentTokenCount: tokens,
      firstKeptEntryId: messages.at(-1)?.entryId ?? "",
      tokensBefore: tokens,
      messages,
      trigger: "threshold",
      backend: "embedded",
      signal: new AbortController().signal,
    });
    return answer?.handled === true && this.#record(turnId, tokens, answer);
  }

  /** Writes a compaction, as the host does when its cut is allowed. */
  async #record(
    turnId: string,
    tokens: number,
    made: { summary: string; firstKeptEntryId: string; details?: unknown },
  ): Promise<boolean> {
    const { summary, firstKeptEntryId, details } = made;
    const { messages, liveStart, fragments } = await contextFromPath(this.transcript, turnId);
    const cut = checkCut({ messages, liveStart, firstKeptEntryId, fragments });
    assert.ok(!("reason" in cut), "reason" in cut ? cut.reason : "");
    this.compactions += 1;
    this.transcript.append({
      type: "compaction",
      summary,
      firstKeptEntryId,
      tokensBefore: tokens,
      origin: "engine",
      // As parsed from a line of the file.
      ...(details === undefined ? {} : { details: JSON.parse(JSON.stringify(details)) as unknown }),
      ...(cut.splitTurnInputId === undefined ? {} : { splitTurnInputId: cut.splitTurnInputId }),
    });
    return true;
  }

  async commit(turnId: string, outcome: "completed" | "failed" = "completed"): Promise<void> {
    this.transcript.append({ type: "turn_commit", turnId, outcome, finalized: false });
    const { sessionFile: _file, ...params } = this.params({ turnId });
    const target = { agentId: "main", sessionId: params.sessionId, sessionKey: "main", storePath: this.dir };
    await this.engine.commitTurn?.({ ...params, ...commitParams(this.transcript, target, turnId, false) });
    this.transcript.append({ type: "custom", customType: "pagurus.finalized", data: { turnId } });
    this.volatile = [];
  }

  maintain(): Promise<unknown> {
    return Promise.resolve(this.engine.maintain?.(this.params()));
  }

  /** A whole turn: each element of `rounds` is a call with its results. */
  async turn(input: AgentMessage, rounds: AgentMessage[][], answer: AgentMessage): Promise<void> {
    const turnId = this.begin(input);
    await this.call(turnId);
    for (const round of rounds) {
      for (const message of round) this.append(turnId, message);
      await this.call(turnId);
    }
    this.append(turnId, answer);
    await this.commit(turnId);
  }
}

/** Every context of an epoch begins with the bytes of the one before it. */
export function assertGrowing(sent: readonly Sent[]): void {
  for (const [index, now] of sent.entries()) {
    const before = sent[index - 1];
    if (!before || before.epoch !== now.epoch) continue;
    const at = before.bytes.findIndex((text, place) => now.bytes[place] !== text);
    assert.ok(
      at < 0,
      `context ${index}: message ${at} of ${before.bytes.length} changed within epoch ${now.epoch}:\n${before.bytes[at]?.slice(0, 300)}\n${now.bytes[at]?.slice(0, 300)}`,
    );
  }
}

export function texts(messages: readonly AgentMessage[]): string {
  return JSON.stringify(messages.map(({ content }) => content));
}
