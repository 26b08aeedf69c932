/**
 * A small host in memory that drives one engine as the contract says: a transcript with its cursor and its file, a
 * scripted model, the settle order `commitTurn`, `afterTurn`, `ingestBatch`, `ingest`, compactions applied.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { CompactParams, CompactResult } from "../../contract/engine-compaction.ts";
import type {
  AssembleParams,
  AssembleResult,
  BootstrapResult,
  CommitTurnParams,
} from "../../contract/engine-params.ts";
import type { ContextEngine } from "../../contract/engine.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { LlmComplete, LlmCompleteRequest } from "../../contract/model.ts";
import type {
  RewriteRequest,
  RuntimeContext,
  RuntimeSettings,
  SessionTarget,
  TranscriptRewriteResult,
} from "../../contract/runtime-context.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import { messagesTokens } from "../../tokens/messages.ts";
import { must, shown } from "../check.ts";
import { commitParams } from "./commit.ts";
import type { Turn } from "./conversation.ts";
import { readClassicTranscript } from "./classic-file.ts";
import { StageTranscript } from "./transcript.ts";

export interface StageOptions {
  /** Answers the engine's own model calls; by default with a short summary. */
  llm?: LlmComplete;
  /** Tokens. */
  tokenBudget?: number;
  sessionId?: string;
}

export interface AssembleOptions {
  prompt?: string;
  /** Messages of the live turn, written already; later calls of a turn have them and no prompt. */
  liveTurnId?: string;
  tokenBudget?: number;
}

const DEFAULT_BUDGET = 100_000;
const SUMMARY = "The user has the berths of the harbour looked after; the list of ships is kept by hand.";
/** Parameters that an engine may leave out of `acceptedHostParams`; all others are always passed. */
const OPTIONAL_PARAMS = [
  "sessionKey",
  "prompt",
  "runtimeContext",
  "runtimeSettings",
  "sessionTarget",
  "availableTools",
  "citationsMode",
  "model",
];

type Create = (context: { dir: string }) => ContextEngine | Promise<ContextEngine>;

export class EngineStage {
  engine: ContextEngine;
  readonly dir: string;
  readonly tokenBudget: number;
  /** Every call of the engine's model. */
  readonly completions: LlmCompleteRequest[] = [];
  /** Every rewrite that the engine asked for. */
  readonly rewrites: RewriteRequest[] = [];
  transcript: StageTranscript;
  llm: LlmComplete;
  #turns = 0;
  /** Turns whose settling failed; they are offered to a `history: "live"` engine as messages. */
  readonly #untaken: string[] = [];
  readonly #create: Create;

  private constructor(create: Create, engine: ContextEngine, dir: string, options: StageOptions) {
    this.#create = create;
    this.engine = engine;
    this.dir = dir;
    this.tokenBudget = options.tokenBudget ?? DEFAULT_BUDGET;
    this.llm = options.llm ?? scriptedModel(SUMMARY);
    const sessionId = options.sessionId ?? "session0001";
    this.transcript = new StageTranscript(sessionId, join(dir, "host", `${sessionId}.jsonl`));
  }

  static async open(create: Create, options: StageOptions & { dir: string }): Promise<EngineStage> {
    const dir = join(options.dir, "engine");
    mkdirSync(dir, { recursive: true });
    return new EngineStage(create, await create({ dir }), options.dir, options);
  }

  /** Ends the engine and makes it anew in the same folder, as at the next start of the host. */
  async restart(): Promise<void> {
    await this.engine.dispose?.();
    this.engine = await this.#create({ dir: join(this.dir, "engine") });
  }

  get sessionId(): string {
    return this.transcript.sessionId;
  }

  get sessionKey(): string {
    return "main";
  }

  get target(): SessionTarget {
    const { sessionId, sessionKey } = this;
    return { agentId: "main", sessionId, sessionKey, storePath: join(this.dir, "host") };
  }

  runtimeContext(extra: Partial<RuntimeContext> = {}): RuntimeContext {
    return {
      config: { agents: { defaults: { model: "test/model", compaction: { model: "test/model" } } } },
      provider: "test",
      model: "test/model",
      modelId: "model",
      agentId: "main",
      agentHarnessId: "embedded",
      cwd: this.dir,
      contextWindow: this.tokenBudget + 4_000,
      tokenBudget: this.tokenBudget,
      tokens: countTokens,
      llm: {
        complete: async (request) => {
          this.completions.push(request);
          return await this.llm(request);
        },
      },
      allowDeferredCompactionExecution: true,
      transcript: this.transcript,
      ...extra,
    };
  }

  runtimeSettings(): RuntimeSettings {
    return {
      schemaVersion: 1,
      runtime: { host: "pagurus", mode: "normal", harnessId: "embedded", runtimeId: "embedded" },
      model: { requested: "test/model", resolved: "test/model", provider: "test" },
      contextEngineSelection: { selectedId: this.engine.info.id, source: "test" },
      executionHost: { id: "testkit", label: "Conformance suite" },
      limits: { promptTokenBudget: this.tokenBudget, maxOutputTokens: 4_000 },
    };
  }

  /** Parameters as the engine gets them: what it does not declare is left out. */
  params<T extends object>(extra: T, context: Partial<RuntimeContext> = {}): T & { sessionId: string } {
    const all: Record<string, unknown> = {
      sessionId: this.sessionId,
      sessionKey: this.sessionKey,
      runtimeContext: this.runtimeContext(context),
      runtimeSettings: this.runtimeSettings(),
      ...extra,
    };
    const accepted = this.engine.info.acceptedHostParams;
    if (accepted) {
      for (const name of OPTIONAL_PARAMS) if (!accepted.includes(name)) delete all[name];
    }
    return all as T & { sessionId: string };
  }

  fileParams<T extends object>(
    extra: T,
    context: Partial<RuntimeContext> = {},
  ): T & { sessionId: string; sessionFile: string } {
    return this.params({ sessionFile: this.transcript.file, sessionTarget: this.target, ...extra }, context);
  }

  /** Writes messages of a turn; without `open` the turn is over and committed. Returns its id. */
  write(messages: Turn, options: { open?: boolean } = {}): string {
    this.#turns += 1;
    const turnId = `turn${String(this.#turns).padStart(4, "0")}`;
    for (const message of messages) this.transcript.append({ type: "message", turnId, message });
    if (!options.open) this.close(turnId);
    return turnId;
  }

  close(turnId: string): void {
    this.transcript.append({ type: "turn_commit", turnId, outcome: "completed" });
  }

  /** A turn as the host takes it: written, then settled. Returns its id. */
  async take(messages: Turn, options: { isHeartbeat?: boolean } = {}): Promise<string> {
    const turnId = this.write(messages);
    await this.settle(turnId, options);
    return turnId;
  }

  /** An engine that knows a session of these turns: they existed before it, or it settled each. */
  async know(all: readonly Turn[]): Promise<string[]> {
    if (!this.engine.bootstrap) {
      const ids: string[] = [];
      for (const one of all) ids.push(await this.take(one));
      return ids;
    }
    const ids = all.map((one) => this.write(one));
    await this.bootstrap();
    return ids;
  }

  bootstrap(): Promise<BootstrapResult | undefined> {
    const call = this.engine.bootstrap?.(this.fileParams({}));
    return call ?? Promise.resolve(undefined);
  }

  commitParams(turnId: string, isHeartbeat = false): CommitTurnParams {
    return this.params(commitParams(this.transcript, this.target, turnId, isHeartbeat));
  }

  /** Tells the engine of a turn in the way it prefers; its answer. */
  async settle(turnId: string, options: { isHeartbeat?: boolean } = {}): Promise<unknown> {
    const isHeartbeat = options.isHeartbeat ?? false;
    try {
      return await this.#settle(turnId, isHeartbeat);
    } catch (error) {
      if (!this.#untaken.includes(turnId)) this.#untaken.push(turnId);
      throw error;
    }
  }

  async #settle(turnId: string, isHeartbeat: boolean): Promise<unknown> {
    const { engine } = this;
    const messages = this.transcript.turnMessages(turnId);
    if (engine.commitTurn) return await engine.commitTurn(this.commitParams(turnId, isHeartbeat));
    if (engine.afterTurn) {
      const history = engine.info.history === "live" ? [] : this.transcript.context(turnId);
      const { tokenBudget } = this;
      const snapshot = [...history, ...messages];
      const counts = { messages: snapshot, prePromptMessageCount: history.length };
      return await engine.afterTurn(this.fileParams({ ...counts, isHeartbeat, tokenBudget }));
    }
    if (engine.ingestBatch) return await engine.ingestBatch(this.params({ messages, isHeartbeat }));
    const answers: unknown[] = [];
    for (const message of messages) answers.push(await engine.ingest(this.params({ message, isHeartbeat })));
    return answers;
  }

  /** What the host gives to `assemble`. */
  given(options: AssembleOptions = {}): AgentMessage[] {
    const live = options.liveTurnId === undefined ? [] : this.transcript.turnMessages(options.liveTurnId);
    const before =
      this.engine.info.history === "live"
        ? this.#untaken.flatMap((id) => this.transcript.turnMessages(id))
        : this.transcript.context(options.liveTurnId);
    return [...before, ...live];
  }

  assembleParams(options: AssembleOptions = {}): AssembleParams {
    return this.params(
      {
        messages: this.given(options),
        tokenBudget: options.tokenBudget ?? this.tokenBudget,
        availableTools: new Set(["read_file"]),
        model: "model",
        ...(options.prompt === undefined ? {} : { prompt: options.prompt }),
      },
      options.liveTurnId === undefined ? {} : { turnId: options.liveTurnId },
    );
  }

  /** Throws `Violation` when the answer is not an assembled context. */
  async assemble(options: AssembleOptions = {}): Promise<AssembleResult> {
    const answered = await this.engine.assemble(this.assembleParams(options));
    must(Array.isArray(answered?.messages), `assemble() answered ${shown(answered)} without messages.`);
    return answered;
  }

  compactParams(extra: Partial<CompactParams> = {}, context: Partial<RuntimeContext> = {}): CompactParams {
    const base = {
      tokenBudget: this.tokenBudget,
      force: true,
      currentTokenCount: messagesTokens(this.transcript.context()),
    };
    return this.fileParams({ ...base, ...extra }, context);
  }

  async compact(
    extra: Partial<CompactParams> = {},
    context: Partial<RuntimeContext> = {},
  ): Promise<CompactResult> {
    const answered = await this.engine.compact(this.compactParams(extra, context));
    must(
      typeof answered?.compacted === "boolean",
      `compact() answered ${shown(answered)} without \`compacted\`.`,
    );
    return answered;
  }

  /** Does what the host does with a compaction: writes its entry, or moves to the successor. */
  apply(answered: CompactResult): void {
    const { result } = answered;
    const successor = successorOf(answered, this.sessionId);
    if (successor?.file !== undefined) {
      const moved = new StageTranscript(
        successor.sessionId,
        join(this.dir, "moved", `${successor.sessionId}.jsonl`),
      );
      moved.adopt(readClassicTranscript(successor.file).entries);
      this.transcript = moved;
      return;
    }
    const { summary, firstKeptEntryId } = result ?? {};
    if (!answered.compacted || summary === undefined || firstKeptEntryId === undefined) return;
    const tokensBefore = result?.tokensBefore ?? 0;
    this.transcript.append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, origin: "engine" });
  }

  /** `maintain`, with rewriting as the host offers it there; `answer` replaces what the host says to a rewrite. */
  async maintain(
    answer?: TranscriptRewriteResult,
    abortSignal?: AbortSignal,
  ): Promise<TranscriptRewriteResult | undefined> {
    const rewrite = async (asked: RewriteRequest[]): Promise<TranscriptRewriteResult> => {
      this.rewrites.push(...structuredClone(asked));
      return answer ?? { changed: asked.length > 0, bytesFreed: 0, rewrittenEntries: asked.length };
    };
    const params = this.fileParams(abortSignal ? { abortSignal } : {}, { rewriteTranscriptEntries: rewrite });
    return await this.engine.maintain?.(params);
  }
}

export function countTokens(value: string | AgentMessage | readonly AgentMessage[]): number {
  return typeof value === "string" ? estimateTokens(value) : messagesTokens([value].flat() as AgentMessage[]);
}

/** A model that always says the same. */
export function scriptedModel(text: string): LlmComplete {
  return async () => ({ text, provider: "test", model: "model", agentId: "main", stopReason: "stop" });
}

/** The session that a compaction moved to; undefined where it stays the same. */
export function successorOf(
  answered: CompactResult,
  sessionId: string,
): { sessionId: string; file: string | undefined } | undefined {
  const id = answered.result?.sessionId ?? answered.sessionId ?? answered.result?.sessionTarget?.sessionId;
  const file = answered.result?.sessionFile ?? answered.sessionFile;
  if (id === undefined || id === sessionId) return undefined;
  return { sessionId: id, file };
}
