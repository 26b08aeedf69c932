/**
 * The host's side of one session at the engine: a transcript on disk that grows by turns, and the parameters of each call as
 * the host makes them. Keeps no more of a history than a host does: the file is read from its end.
 */
import { appendFileSync, closeSync, fstatSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { contextFromPath } from "../../packages/core/src/compaction/compaction-context.ts";
import { reservedTokens } from "../../packages/core/src/compaction/policy.ts";
import type { CompactResult } from "../../packages/contract/src/engine/engine-compaction.ts";
import type {
  AssembleResult,
  TranscriptEntryAnchor,
} from "../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../packages/contract/src/model.ts";
import type { RuntimeContext, SessionTarget } from "../../packages/contract/src/engine/runtime-context.ts";
import type {
  CompactionEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "../../packages/contract/src/session/transcript.ts";
import type { LosslessStore } from "../../packages/lossless/src/store/lossless-store.ts";
import {
  linesBackward,
  linesForward,
} from "../../packages/host/src/stores/files/transcript/transcript-lines.ts";
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { messagesTokens, messageTokens } from "../../packages/core/src/tokens/message-tokens.ts";
import { STATIC_TOKENS } from "../../packages/replay/src/context-policy.ts";

/** Entries of the stored history that the file begins with: the host's file ends with them. */
const TAIL = 64;
const KINDS = ["message", "custom_message", "compaction", "turn_commit"] as const;
const MODEL = "bench/instant";
/** Bytes that are read before other work of the process runs, as in the host's own cursor. */
const SLICE = 256 * 1024;

/** Writes the end of a session's transcript: a host's file ends with these lines. */
function writeTail(file: string, store: LosslessStore, sessionId: string): void {
  const { items } = store.walkBack(sessionId, { maxMessages: TAIL, kinds: KINDS });
  let parentId: string | null = null;
  const lines = items.map(({ entryId: id, message, entry, turnId, time }) => {
    const timestamp = new Date(time).toISOString();
    const line = JSON.stringify(entry ?? { type: "message", id, parentId, timestamp, turnId, message });
    parentId = id;
    return `${line}\n`;
  });
  writeFileSync(file, lines.join(""));
}

/** A transcript that continues where its file and the store end. */
class GrowingTranscript implements TranscriptCursor {
  readonly file: string;
  readonly #fd: number;
  #leafId: string | null;
  #count: number;
  /** Compactions, which the host's index has. */
  readonly #compactions: CompactionEntry[] = [];

  /** `count`: number of existing entries. */
  constructor(file: string, count: number) {
    this.file = file;
    this.#count = count;
    this.#fd = openSync(file, "r");
    const [last] = linesBackward(this.#fd, 0, fstatSync(this.#fd).size);
    this.#leafId = last ? (JSON.parse(last.bytes.toString()) as TranscriptEntry).id : null;
  }

  /** Ids sort after all existing ones: `e…` of the history, `n…` of the other benchmarks' turns. */
  append(entry: object, time: number): TranscriptEntry {
    const id = `x${(this.#count++).toString(36).padStart(15, "0")}`;
    const timestamp = new Date(time).toISOString();
    const made = { ...entry, id, parentId: this.#leafId, timestamp } as TranscriptEntry;
    appendFileSync(this.file, `${JSON.stringify(made)}\n`);
    if (made.type === "compaction") this.#compactions.push(made);
    this.#leafId = id;
    return made;
  }

  get count(): number {
    return this.#count;
  }

  async *forward(afterId?: string): AsyncIterable<TranscriptEntry> {
    let isAfter = afterId === undefined;
    let read = 0;
    for (const { bytes, length } of linesForward(this.#fd, 0, fstatSync(this.#fd).size)) {
      const entry = JSON.parse(bytes.toString()) as TranscriptEntry;
      if (isAfter) yield entry;
      isAfter ||= entry.id === afterId;
      read += length;
      if (read < SLICE) continue;
      read = 0;
      await setImmediate();
    }
  }

  async *backward(): AsyncIterable<TranscriptEntry> {
    for (const { bytes } of linesBackward(this.#fd, 0, fstatSync(this.#fd).size))
      yield JSON.parse(bytes.toString()) as TranscriptEntry;
  }

  /** The history has none. */
  async *ofEngine(): AsyncIterable<CompactionEntry> {
    yield* this.#compactions.toReversed();
  }

  async get(id: string): Promise<TranscriptEntry | undefined> {
    for await (const entry of this.backward()) if (entry.id === id) return entry;
    return undefined;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

export interface HostOptions {
  folder: string;
  sessionId: string;
  /** Tokens of the model's window. */
  window: number;
  config: unknown;
  /** A transcript that the engine has not seen; otherwise one is made from the last entries of its store. */
  transcript?: string;
  /** The engine's own model calls; without it the provider is `offline`. */
  complete?: LlmComplete;
}

interface Base {
  sessionId: string;
  sessionKey: string;
  runtimeContext: RuntimeContext;
}

const noModel: LlmComplete = () => Promise.reject(new Error("The benchmark has no model here."));

/** One session of an open engine. */
export class BenchHost {
  readonly engine: ContextEngine;
  readonly transcript: GrowingTranscript;
  readonly tokenBudget: number;
  readonly #options: HostOptions;
  #turns = 0;
  #live: AgentMessage[] = [];
  #turnId = "";
  #time = Date.UTC(2026, 6, 1);

  constructor(engine: ContextEngine, store: LosslessStore, options: HostOptions) {
    this.engine = engine;
    this.#options = options;
    const { window, folder, sessionId } = options;
    const file = options.transcript ?? join(folder, "tail.jsonl");
    if (options.transcript === undefined) writeTail(file, store, sessionId);
    this.transcript = new GrowingTranscript(file, store.session(sessionId)?.entries ?? 0);
    this.tokenBudget = window - reservedTokens(window, undefined, engine.info) - STATIC_TOKENS;
  }

  get #target(): SessionTarget {
    const { sessionId, folder } = this.#options;
    return { agentId: "main", sessionId, sessionKey: "main", storePath: folder };
  }

  #context(extra: Partial<RuntimeContext> = {}): RuntimeContext {
    const { window, config, complete, folder } = this.#options;
    const provider = complete ? "bench" : "offline";
    return {
      config,
      provider,
      model: complete ? MODEL : "offline/none",
      modelId: complete ? "instant" : "none",
      agentId: "main",
      agentHarnessId: "embedded",
      cwd: folder,
      ...(this.#turnId === "" ? {} : { turnId: this.#turnId }),
      contextWindow: window,
      tokenBudget: this.tokenBudget,
      tokens: (value) => Math.ceil(countTokens(value)),
      llm: { complete: complete ?? noModel },
      allowDeferredCompactionExecution: false,
      transcript: this.transcript,
      ...extra,
    };
  }

  #base(extra: Partial<RuntimeContext> = {}): Base {
    const { sessionId } = this.#options;
    return { sessionId, sessionKey: "main", runtimeContext: this.#context(extra) };
  }

  #files(extra: Partial<RuntimeContext> = {}): Base & {
    sessionFile: string;
    sessionTarget: SessionTarget;
  } {
    return { ...this.#base(extra), sessionFile: this.transcript.file, sessionTarget: this.#target };
  }

  async bootstrap(): Promise<void> {
    const answer = await this.engine.bootstrap?.(this.#files());
    if (!answer?.bootstrapped) throw new Error(`The session was not bootstrapped: ${answer?.reason}`);
  }

  /** Opens a turn; the next `assemble` is its first. */
  begin(input: AgentMessage): void {
    this.#turnId = `x${String(++this.#turns).padStart(8, "0")}-${this.transcript.count}`;
    this.#live = [];
    this.append(input);
  }

  /** A message of the turn. */
  append(message: AgentMessage): void {
    const entry = this.transcript.append({ type: "message", turnId: this.#turnId, message }, this.#time++);
    this.#live.push({ ...message, entryId: entry.id });
  }

  async assemble(): Promise<AssembleResult> {
    const [input] = this.#live;
    const isFirst = this.#live.length === 1;
    const prompt = isFirst && input && typeof input.content === "string" ? input.content : undefined;
    return this.engine.assemble({
      ...this.#base(),
      messages: isFirst ? [] : [...this.#live],
      tokenBudget: this.tokenBudget,
      availableTools: new Set(["context_search", "context_describe", "context_expand"]),
      citationsMode: "auto",
      model: "instant",
      ...(prompt === undefined ? {} : { prompt }),
    });
  }

  /** Ends the turn: its end is written, and the engine ingests it. */
  async commit(): Promise<void> {
    const turnId = this.#turnId;
    const { transcript } = this;
    transcript.append({ type: "turn_commit", turnId, outcome: "completed" }, this.#time++);
    const anchor = (message: AgentMessage | undefined): TranscriptEntryAnchor => ({
      ...this.#target,
      generation: "1",
      entryId: message?.entryId ?? "",
      rawSeq: transcript.count,
      effectiveParentId: null,
      activeMessagePosition: transcript.count,
      idempotencyKey: turnId,
    });
    const admission = { ...anchor(this.#live[0]), logicalTurnId: turnId, role: "user" as const };
    const terminal = anchor(this.#live.at(-1));
    const taken = await this.engine.commitTurn?.({
      ...this.#base(),
      advancementKey: turnId,
      admission,
      terminal,
      messages: this.#live,
      sessionTarget: this.#target,
    });
    if (taken?.status !== "committed") throw new Error(`The turn ${turnId} was not taken.`);
    this.#turnId = "";
    this.#live = [];
  }

  /** Background work, run as the host does. */
  async maintain(abortSignal?: AbortSignal): Promise<string> {
    const files = this.#files({ allowDeferredCompactionExecution: true });
    const signal = abortSignal ? { abortSignal } : {};
    const { reason = "" } = (await this.engine.maintain?.({ ...files, ...signal })) ?? {};
    return reason;
  }

  /** As for `/compact`: the engine may call its model, and the user waits. */
  async compact(): Promise<boolean> {
    return this.#take(
      await this.engine.compact({
        ...this.#files({ manualCompaction: true }),
        tokenBudget: this.tokenBudget,
        force: true,
      }),
    );
  }

  /** The host's compaction before it sends a context that is over the budget, or that the engine wants compacted. */
  async compactForSend(assembled: AssembleResult): Promise<boolean> {
    return this.#take(
      await this.engine.compact({
        ...this.#files(),
        tokenBudget: this.tokenBudget,
        force: false,
        currentTokenCount: assembled.estimatedTokens ?? 0,
        compactionTarget: "budget",
      }),
    );
  }

  async #take({ compacted, result }: CompactResult): Promise<boolean> {
    if (!compacted) return false;
    const { summary, firstKeptEntryId, splitTurnInputId, tokensBefore = 0 } = result ?? {};
    const split = splitTurnInputId === undefined ? {} : { splitTurnInputId };
    const entry = { type: "compaction", summary, firstKeptEntryId, ...split, tokensBefore, origin: "engine" };
    this.transcript.append(entry, this.#time++);
    if (this.#turnId === "") return true;
    // A cut inside the live turn changes the live turn that the host passes.
    const { messages, liveStart } = await contextFromPath(this.transcript, this.#turnId);
    this.#live = messages.slice(liveStart);
    return true;
  }

  async close(): Promise<void> {
    await this.engine.dispose?.();
    this.transcript.close();
  }
}

function countTokens(value: string | AgentMessage | readonly AgentMessage[]): number {
  if (typeof value === "string") return estimateTokens(value);
  return Array.isArray(value)
    ? messagesTokens(value as readonly AgentMessage[])
    : messageTokens(value as AgentMessage);
}
