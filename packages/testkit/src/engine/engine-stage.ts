/**
 * A small host in memory that drives one engine by the contract: a transcript with its cursor and file, a scripted model, the
 * settle order `commitTurn`, `afterTurn`, `ingestBatch`, `ingest`, compactions applied.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type {
  AssembleParams,
  AssembleResult,
  BootstrapResult,
  CommitTurnParams,
} from "@pagurus/contract/engine/engine-params";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { AgentMessage } from "@pagurus/contract/message";
import type { LlmComplete, LlmCompleteRequest } from "@pagurus/contract/model";
import type {
  RewriteRequest,
  RuntimeContext,
  SessionTarget,
  TranscriptRewriteRequest,
  TranscriptRewriteResult,
} from "@pagurus/contract/engine/runtime-context";
import type { RuntimeSettings } from "@pagurus/contract/engine/runtime-settings";
import { offerTranscripts, type TranscriptTarget } from "@pagurus/host/plugin/compat/transcripts";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { IdSource } from "@pagurus/core/platform/ids";
import { countTokens, messagesTokens } from "@pagurus/core/tokens/message-tokens";
import { must, onlyIf, shown } from "../conformance-check.ts";
import { commitParams } from "./commit.ts";
import type { Turn } from "./scripted-conversation.ts";
import { readClassicTranscript } from "./classic-file.ts";
import { StageTranscript } from "./scripted-transcript.ts";
import { defined } from "@pagurus/core/data/defined";

export interface StageOptions {
  /** Answers the engine's own model calls; by default with a short summary. */
  llm?: LlmComplete;
  /** Tokens. */
  tokenBudget?: number;
  /** `givenIds` of another stage, to use the same ids; default: new ones. */
  ids?: readonly string[];
}

export interface AssembleOptions {
  prompt?: string;
  /** Turn id of the live turn, written already; later calls of a turn have its messages and no prompt. */
  liveTurnId?: string;
  tokenBudget?: number;
}

const AGENT_ID = "main";
const DEFAULT_BUDGET = 100_000;
const SUMMARY = "The user has the berths of the harbour looked after; the list of ships is kept by hand.";
/** Parameters that an engine may leave out of `acceptedHostParams`; all others are always passed, as by the host. */
const OPTIONAL_PARAMS = [
  "sessionKey",
  "prompt",
  "runtimeContext",
  "runtimeSettings",
  "sessionTarget",
  "abortSignal",
];

type Create = (context: { dir: string }) => ContextEngine | Promise<ContextEngine>;

export class EngineStage {
  engine: ContextEngine;
  readonly dir: string;
  readonly tokenBudget: number;
  /** Every call of the engine's model. */
  readonly completions: LlmCompleteRequest[] = [];
  /** Every rewrite that the engine requested. */
  readonly rewrites: RewriteRequest[] = [];
  transcript: StageTranscript;
  llm: LlmComplete;
  /** Unique to this stage: a plugin's store may persist from check to check, and from run to run. */
  readonly sessionKey: string;
  readonly #ids = new IdSource();
  /** Every id that the stage has assigned, in order. */
  readonly givenIds: string[] = [];
  readonly #newId = (): string => {
    const id = this.#again[this.givenIds.length] ?? this.#ids.next();
    this.givenIds.push(id);
    return id;
  };
  readonly #again: readonly string[];
  readonly #turnIds: string[] = [];
  readonly #transcripts: StageTranscript[];
  readonly #withdraw: () => void;
  /** Turns whose settling failed; they are offered to a `history: "live"` engine as messages. */
  readonly #untaken: string[] = [];
  readonly #create: Create;

  private constructor(create: Create, engine: ContextEngine, dir: string, options: StageOptions) {
    this.#create = create;
    this.engine = engine;
    this.dir = dir;
    this.tokenBudget = options.tokenBudget ?? DEFAULT_BUDGET;
    this.llm = options.llm ?? scriptedModel(SUMMARY);
    this.#again = options.ids ?? [];
    const sessionId = this.#newId();
    this.sessionKey = `suite-${sessionId}`;
    this.transcript = new StageTranscript(sessionId, join(dir, "host", `${sessionId}.jsonl`), this.#newId);
    this.#transcripts = [this.transcript];
    this.#withdraw = offerTranscripts((target) => this.#read(target));
  }

  static async open(create: Create, options: StageOptions & { dir: string }): Promise<EngineStage> {
    const dir = join(options.dir, "engine");
    mkdirSync(dir, { recursive: true });
    return new EngineStage(create, await create({ dir }), options.dir, options);
  }

  /** Disposes of the engine and creates it again in the same folder, as at the next start of the host. */
  async restart(): Promise<void> {
    await this.engine.dispose?.();
    this.engine = await this.#create({ dir: join(this.dir, "engine") });
  }

  get sessionId(): string {
    return this.transcript.sessionId;
  }

  /** Target for the helpers of `plugin-sdk` that read the session, until `close()`. */
  get target(): SessionTarget {
    const { sessionId, sessionKey, storePath } = this;
    return { agentId: AGENT_ID, sessionId, sessionKey, storePath };
  }

  get storePath(): string {
    return join(this.dir, "host");
  }

  /** A session that does not exist. */
  otherSession(): { sessionId: string; sessionKey: string } {
    const sessionId = this.#newId();
    return { sessionId, sessionKey: `suite-${sessionId}` };
  }

  /** The text with names instead of the ids that differ between stages. */
  withoutIds(text: string): string {
    const named = this.givenIds.map((id, index): [string, string] => [id, `<id ${index}>`]);
    return [...named, [this.dir, "<folder>"] as const].reduce(
      (named_, [id, name]) => named_.replaceAll(id, name),
      text,
    );
  }

  /** Frees the process's resources of the stage, except its engine. */
  close(): void {
    this.#withdraw();
  }

  #read({
    agentId = AGENT_ID,
    sessionId,
    sessionKey,
    storePath,
  }: TranscriptTarget): AsyncIterable<TranscriptEntry> | undefined {
    if (agentId !== AGENT_ID || (storePath ?? this.storePath) !== this.storePath) return undefined;
    if (sessionId === undefined && sessionKey !== this.sessionKey) return undefined;
    const wanted = sessionId ?? this.sessionId;
    return this.#transcripts.find((each) => each.sessionId === wanted)?.forward();
  }

  runtimeContext(extra: Partial<RuntimeContext> = {}): RuntimeContext {
    return {
      config: { agents: { defaults: { model: "test/model", compaction: { model: "test/model" } } } },
      provider: "test",
      model: "test/model",
      modelId: "model",
      agentId: AGENT_ID,
      agentHarnessId: "embedded",
      cwd: this.dir,
      contextWindow: this.tokenBudget + 4_000,
      tokenBudget: this.tokenBudget,
      tokens: countTokens,
      llm: {
        complete: async (request) => {
          this.completions.push(request);
          return await untilAborted(this.llm(request), request.signal);
        },
      },
      allowDeferredCompactionExecution: true,
      transcript: this.transcript,
      sessionTarget: this.target,
      ...extra,
    };
  }

  runtimeSettings(): RuntimeSettings {
    return {
      schemaVersion: 1,
      runtime: { host: "openclaw", mode: "normal", harnessId: "embedded", runtimeId: "embedded" },
      model: { requested: "test/model", resolved: "test/model", provider: "test", family: null },
      contextEngineSelection: { selectedId: this.engine.info.id, source: "configured" },
      executionHost: { id: "testkit", label: "Conformance suite" },
      limits: { promptTokenBudget: this.tokenBudget, maxOutputTokens: 4_000 },
      diagnostics: { fallbackReason: null, degradedReason: null },
    };
  }

  /** Parameters as the engine gets them: undeclared ones are left out. */
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

  /** Throws `NotOffered` for an engine that gets no abort signal. */
  mustTakeSignal(): void {
    const accepted = this.engine.info.acceptedHostParams;
    const takes = !accepted || accepted.includes("abortSignal");
    onlyIf(takes, "info.acceptedHostParams does not name abortSignal, so that the engine gets none.");
  }

  fileParams<T extends object>(
    extra: T,
    context: Partial<RuntimeContext> = {},
  ): T & { sessionId: string; sessionFile: string } {
    return this.params({ sessionFile: this.transcript.file, sessionTarget: this.target, ...extra }, context);
  }

  /** Writes messages of a turn; without `open` the turn is over and committed. Returns its id. */
  write(messages: Turn, options: { open?: boolean } = {}): string {
    const turnId = this.#newId();
    this.#turnIds.push(turnId);
    for (const message of messages) this.transcript.append({ type: "message", turnId, message });
    if (!options.open) this.commit(turnId);
    return turnId;
  }

  /** Messages of the last written turn. */
  newestTurn(): AgentMessage[] {
    return this.transcript.turnMessages(this.#turnIds.at(-1) ?? "");
  }

  commit(turnId: string): void {
    this.transcript.append({ type: "turn_commit", turnId, outcome: "completed" });
  }

  /** A turn as the host takes it: written, then settled. Returns its id. */
  async take(messages: Turn, options: { isHeartbeat?: boolean } = {}): Promise<string> {
    const turnId = this.write(messages);
    await this.settle(turnId, options);
    return turnId;
  }

  /** Gives the engine a session of these turns: they existed before it, or it settled each. */
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

  /** Passes a turn to the engine by its preferred member; returns the engine's answer. */
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

  /** Messages that the host passes to `assemble`. */
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
        ...defined({ prompt: options.prompt }),
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

  /** Applies a compaction as the host does: writes its entry, or moves to the successor. */
  apply(answered: CompactResult): void {
    const { result } = answered;
    const successor = successorOf(answered, this.sessionId);
    if (successor?.file !== undefined) {
      const moved = new StageTranscript(
        successor.sessionId,
        join(this.dir, "moved", `${successor.sessionId}.jsonl`),
        this.#newId,
      );
      moved.adopt(readClassicTranscript(successor.file).entries);
      this.transcript = moved;
      this.#transcripts.push(moved);
      return;
    }
    const { summary, firstKeptEntryId } = result ?? {};
    if (!answered.compacted || summary === undefined || firstKeptEntryId === undefined) return;
    const tokensBefore = result?.tokensBefore ?? 0;
    this.transcript.append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, origin: "engine" });
  }

  /** `maintain`, with rewriting as the host offers it there; `answer` replaces the host's answer to a rewrite. */
  async maintain(
    answer?: TranscriptRewriteResult,
    abortSignal?: AbortSignal,
  ): Promise<TranscriptRewriteResult | undefined> {
    const rewrite = async (
      request: TranscriptRewriteRequest | RewriteRequest[],
    ): Promise<TranscriptRewriteResult> => {
      const asked = Array.isArray(request) ? request : request.replacements;
      this.rewrites.push(...structuredClone(asked));
      return answer ?? { changed: asked.length > 0, bytesFreed: 0, rewrittenEntries: asked.length };
    };
    const params = this.fileParams(abortSignal ? { abortSignal } : {}, { rewriteTranscriptEntries: rewrite });
    return await this.engine.maintain?.(params);
  }
}

/** The host ends a model call whose signal fires, whatever the model does. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A model with a constant answer. */
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
