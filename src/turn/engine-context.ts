/** What every engine member gets from the running host. Nothing is invented: what is unknown is left out. */
import type { ContextEngine } from "../contract/engine.ts";
import type { Degradation } from "../contract/events.ts";
import type { AgentHarness } from "../contract/harness.ts";
import type { AgentMessage, Usage } from "../contract/message.ts";
import type { LlmComplete, LlmCompleteRequest, LlmCompleteResult, ModelInfo } from "../contract/model.ts";
import type {
  PromptCacheInfo,
  RuntimeContext,
  RuntimeSettings,
  SessionTarget,
} from "../contract/runtime-context.ts";
import type { SessionRecord } from "../contract/writer.ts";
import type { TranscriptCursor } from "../contract/transcript.ts";
import type { PagurusConfig } from "../config/types.ts";
import type { Logger } from "../platform/log.ts";
import type { Calibration } from "../tokens/calibration.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { messagesTokens, messageTokens } from "../tokens/messages.ts";
import type { CostGate } from "./cost.ts";
import { engineSessionFile } from "./engine-files.ts";

/** How long a provider keeps a prefix that the host has marked, from its last use. */
const MARKED_CACHE_MS = 5 * 60_000;
/** Tokens that a completion has to be able to answer with. */
const SMALLEST_ANSWER = 16;

export type OnCompletion = (asked: LlmCompleteRequest, result: LlmCompleteResult) => void;

/** The agent, as far as its engine is told of it. */
export interface EngineHome {
  agentId: string;
  agentDir: string;
  config: PagurusConfig;
  logger: Logger;
  slot: { id: string; source: string; bundled: boolean };
  complete(defaultRef: string): LlmComplete;
  calibration(sessionId: string, modelRef: string): Calibration;
  /** Throws `model_unknown`, `credential_missing`. */
  modelInfo(ref: string): ModelInfo;
}

export interface EngineContextOptions {
  host: EngineHome;
  engine: ContextEngine;
  model: ModelInfo;
  harness: AgentHarness;
  cwd: string;
  turnId?: string | undefined;
  tokenBudget: number;
  /** The session now; undefined members stand for one that does not exist yet. */
  session(): { record: SessionRecord | undefined; sessionKey: string; cursor: TranscriptCursor };
  cost?: CostGate | undefined;
  /** Told of each completion that the engine asked for, so that its cost is counted. */
  onCompletion?: OnCompletion | undefined;
  degraded?(): readonly Degradation[];
  /** A copy of the transcript for the engine, or a line of the ledger, could not be written. */
  onFileFailure?(reason: string): void;
}

/** The parameters of an engine call that name the session and the host. */
export interface EngineCallBase {
  sessionId: string;
  sessionKey: string;
  runtimeContext: RuntimeContext;
  runtimeSettings: RuntimeSettings;
}

export class EngineContext {
  readonly options: EngineContextOptions;
  #last: { usage: Usage; at: number } | undefined;

  constructor(options: EngineContextOptions) {
    this.options = options;
  }

  /** Usage of the newest model call and when it was, ms since the epoch; undefined after a compaction. */
  noteUsage(last: { usage: Usage; at: number } | undefined): void {
    this.#last = last;
  }

  /** What is known of the newest model call. */
  get lastUsage(): { usage: Usage; at: number } | undefined {
    return this.#last;
  }

  /** Tokens of the last call as the provider reported them; undefined when nothing is known. */
  get currentTokenCount(): number | undefined {
    return this.#last?.usage.totalTokens;
  }

  base(extra: Partial<RuntimeContext> = {}): EngineCallBase {
    const { record, sessionKey } = this.options.session();
    return {
      sessionId: record?.sessionId ?? "",
      sessionKey,
      runtimeContext: { ...this.runtime(), ...extra },
      runtimeSettings: this.settings(),
    };
  }

  /** `base` with the transcript file and its target. */
  fileBase(extra: Partial<RuntimeContext> = {}): EngineCallBase & {
    sessionFile: string;
    sessionTarget: SessionTarget;
  } {
    return { ...this.base(extra), sessionFile: this.sessionFile() ?? "", sessionTarget: this.target() };
  }

  /** Our file for a bundled engine, a copy for any other, which may be an old one when it could not be written. */
  sessionFile(): string | undefined {
    return this.#file().file;
  }

  /** The same; undefined also when the copy could not be brought up to date. */
  freshSessionFile(): string | undefined {
    const { file, fresh } = this.#file();
    return fresh ? file : undefined;
  }

  #file(): { file: string | undefined; fresh: boolean } {
    const { host, session, onFileFailure } = this.options;
    const { record } = session();
    if (!record) return { file: undefined, fresh: false };
    let fresh = true;
    const failed = (reason: string): void => {
      fresh = false;
      onFileFailure?.(reason);
    };
    const file = engineSessionFile(host.slot, record.file, failed, (reason) => onFileFailure?.(reason));
    return { file, fresh };
  }

  target(): SessionTarget {
    const { host, session } = this.options;
    const { record, sessionKey } = session();
    return {
      agentId: host.agentId,
      sessionId: record?.sessionId ?? "",
      sessionKey,
      storePath: host.agentDir,
    };
  }

  runtime(): RuntimeContext {
    const { host, model, harness, cwd, turnId, tokenBudget, session } = this.options;
    const { record, cursor } = session();
    const calibration = host.calibration(record?.sessionId ?? "", model.ref);
    const promptCache = this.#promptCache();
    return {
      config: host.config,
      provider: model.provider,
      model: model.ref,
      modelId: model.id,
      agentId: host.agentId,
      agentHarnessId: harness.id,
      cwd,
      ...(turnId === undefined ? {} : { turnId }),
      contextWindow: model.contextWindow,
      tokenBudget,
      ...(this.#last ? { usage: this.#last.usage, currentTokenCount: this.#last.usage.totalTokens } : {}),
      ...(promptCache ? { promptCache } : {}),
      tokens: (value) => Math.ceil(calibration.apply(countTokens(value))),
      llm: { complete: this.#complete() },
      allowDeferredCompactionExecution: false,
      transcript: cursor,
      ...(record ? { sessionTarget: this.target() } : {}),
    };
  }

  settings(): RuntimeSettings {
    const { host, model, harness, tokenBudget, degraded } = this.options;
    const reasons = (degraded?.() ?? []).map(({ stage, reason }) => `${stage}: ${reason}`);
    return {
      schemaVersion: 1,
      runtime: {
        host: "pagurus",
        mode: reasons.length > 0 ? "degraded" : "normal",
        harnessId: harness.id,
        runtimeId: harness.id,
      },
      model: { requested: model.ref, resolved: model.ref, provider: model.provider },
      contextEngineSelection: { selectedId: host.slot.id, source: host.slot.source },
      executionHost: { id: harness.id, label: harness.label },
      limits: { promptTokenBudget: tokenBudget, maxOutputTokens: model.maxTokens },
      ...(reasons.length > 0 ? { diagnostics: { degradedReason: reasons.join("; ") } } : {}),
    };
  }

  #promptCache(): PromptCacheInfo | undefined {
    const last = this.#last;
    const { cacheRead, cacheWrite } = last?.usage ?? {};
    if (!last || (cacheRead === undefined && cacheWrite === undefined)) return undefined;
    const marked = this.options.model.promptCache === "marks";
    return {
      lastCallUsage: {
        input: last.usage.input,
        output: last.usage.output,
        ...(cacheRead === undefined ? {} : { cacheRead }),
        ...(cacheWrite === undefined ? {} : { cacheWrite }),
        total: last.usage.totalTokens,
      },
      lastCacheTouchAt: last.at,
      ...(marked ? { retention: "short" as const, expiresAt: last.at + MARKED_CACHE_MS } : {}),
    };
  }

  /** Completions are paid for like any request, so they pass the same gate before they are sent. */
  #complete(): LlmComplete {
    const { host, model, cost, onCompletion, onFileFailure } = this.options;
    const summaryRef = host.config.agents?.defaults?.compaction?.model ?? model.ref;
    const complete = host.complete(summaryRef);
    return async (request) => {
      const ref = request.model ?? summaryRef;
      const asked = ref === model.ref ? model : host.modelInfo(ref);
      const inputTokens = estimateTokens(
        [request.systemPrompt ?? "", ...request.messages.map(({ content }) => content)].join("\n"),
      );
      const allowed = cost?.before({
        inputTokens,
        minOutputTokens: SMALLEST_ANSWER,
        wantedOutputTokens: request.maxTokens ?? asked.maxTokens,
        model: asked,
      });
      try {
        const maxTokens = Math.min(request.maxTokens ?? Infinity, allowed?.maxOutputTokens ?? Infinity);
        const result = await complete({ ...request, ...(maxTokens === Infinity ? {} : { maxTokens }) });
        const unwritten = result.usage && cost?.spent(result.usage, request.purpose ?? "completion", asked);
        if (unwritten !== undefined) onFileFailure?.(unwritten);
        onCompletion?.(request, result);
        return result;
      } finally {
        allowed?.done();
      }
    };
  }
}

function countTokens(value: string | AgentMessage | readonly AgentMessage[]): number {
  if (typeof value === "string") return estimateTokens(value);
  return Array.isArray(value)
    ? messagesTokens(value as readonly AgentMessage[])
    : messageTokens(value as AgentMessage);
}
