/** Runtime context that every engine call receives. Unknown values are left out, never invented. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { Usage } from "@pagurus/contract/message";
import type { LlmComplete, LlmCompleteRequest, LlmCompleteResult, ModelInfo } from "@pagurus/contract/model";
import type {
  PromptCacheInfo,
  RuntimeContext,
  SessionTarget,
} from "@pagurus/contract/engine/runtime-context";
import type { RuntimeSettings } from "@pagurus/contract/engine/runtime-settings";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { engineEntryType } from "@pagurus/contract/session/engine-entry";
import type { NewEntry, TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { Logger } from "@pagurus/core/platform/log";
import type { Calibration } from "@pagurus/core/tokens/calibration";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { countTokens } from "@pagurus/core/tokens/message-tokens";
import type { SpendLedger } from "../../stores/files/spend/spend-ledger.ts";
import { heldCosts } from "../cost/held-costs.ts";
import { CostGate, costLimits } from "../cost/cost-limits.ts";
import { completionReceipt, lastUsageOf, type LastCall, type ReceiptSink } from "../receipts/receipt-sink.ts";
import type { ModelFallback } from "@pagurus/contract/fallback";
import type { Guard } from "../guard/guard.ts";
import { engineSessionFile } from "./engine-files.ts";
import { promptCacheInfo } from "./prompt-cache-info.ts";
import { runtimeSettings } from "./runtime-settings.ts";
import { defined } from "@pagurus/core/data/defined";

/** Smallest output of a completion, tokens. */
const SMALLEST_ANSWER = 16;

/** The agent as far as its engine needs it. */
export interface EngineHome {
  agentId: string;
  agentDir: string;
  config: PagurusConfig;
  logger: Logger;
  slot: { id: string; configured: boolean; bundled: boolean };
  complete(defaultRef: string): LlmComplete;
  calibration(record: SessionRecord | undefined, modelRef: string): Calibration;
  /** Throws `model_unknown`, `credential_missing`. */
  modelInfo(ref: string): ModelInfo;
}

/** The work that the engine is called for: a turn, a compaction or maintenance between turns, a view. */
export interface EngineScope {
  readonly host: EngineHome;
  readonly engine: ContextEngine;
  readonly model: ModelInfo;
  readonly harness: AgentHarness;
  readonly cwd: string;
  /** Read at each call: a measurement of the harness changes it. */
  readonly tokenBudget: number;
}

/** Cost and receipts of the completions that an engine requests. */
export interface Completions {
  /** Turn id of their receipts. */
  turnId: string;
  cost: CostGate;
  /** Read for each receipt: a compaction may rotate the session. */
  receipts(): ReceiptSink;
  onUsage?(usage: Usage): void;
}

export interface EngineSource {
  /** The running turn; its degradations are shown to the engine. */
  turnId?: string | undefined;
  /** The models that took over in it so far. */
  fallbacks?: readonly ModelFallback[] | undefined;
  /** The current session; undefined members for one that does not exist yet. */
  session(): {
    record: SessionRecord | undefined;
    sessionKey: string;
    cursor: TranscriptCursor;
    /** Appends to the session's log. Absent for a view. */
    append?(entry: NewEntry): TranscriptEntry;
  };
  /** Absent for a view, whose completions are not counted. */
  completions?: Completions | undefined;
  /**
   * Gets what could not be written (a copy of the transcript for the engine, a line of the ledger) and problems that the engine reports.
   * Absent for a view.
   */
  guard?: Guard | undefined;
}

type CurrentSession = ReturnType<EngineSource["session"]>;

/** The parameters of an engine call that name the session and the host. */
export interface EngineCallBase {
  sessionId: string;
  sessionKey: string;
  runtimeContext: RuntimeContext;
  runtimeSettings: RuntimeSettings;
}

export class EngineContext {
  readonly scope: EngineScope;
  readonly #source: EngineSource;
  #last: LastCall | undefined;
  /** The call before the last one. */
  #previous: LastCall | undefined;

  /** `last`: the session's newest model call; undefined for a view, which says nothing of it. */
  constructor(scope: EngineScope, source: EngineSource, last?: LastCall) {
    this.scope = scope;
    this.#source = source;
    this.#last = last;
  }

  /** The same for work that outlives the turn. */
  detached(source: Pick<EngineSource, "session" | "guard">): EngineContext {
    return new EngineContext(this.scope, { ...this.#source, ...source }, this.#last);
  }

  /** Sets the newest model call; undefined after a compaction. */
  noteUsage(last: LastCall | undefined): void {
    this.#previous = last && this.#last;
    this.#last = last;
  }

  /** Tokens of the last call as the provider reported them; undefined when unknown. */
  get currentTokenCount(): number | undefined {
    return this.#last?.usage.totalTokens;
  }

  base(extra: Partial<RuntimeContext> = {}): EngineCallBase {
    return this.#baseOf(this.#source.session(), extra);
  }

  #baseOf(session: CurrentSession, extra: Partial<RuntimeContext>): EngineCallBase {
    return {
      sessionId: session.record?.sessionId ?? "",
      sessionKey: session.sessionKey,
      runtimeContext: { ...this.#runtimeOf(session), ...extra },
      runtimeSettings: this.settings(),
    };
  }

  /** `base` with the transcript file and its target. */
  fileBase(extra: Partial<RuntimeContext> = {}): EngineCallBase & {
    sessionFile: string;
    sessionTarget: SessionTarget;
  } {
    // Read once: between turns each reading is a search in the index.
    const session = this.#source.session();
    return {
      ...this.#baseOf(session, extra),
      sessionFile: this.#fileOf(session).file ?? "",
      sessionTarget: this.#targetOf(session),
    };
  }

  /** Our file for a bundled engine, a copy for any other; the copy may be stale when it could not be written. */
  sessionFile(): string | undefined {
    return this.#fileOf(this.#source.session()).file;
  }

  /** Same as `sessionFile`, but undefined when the copy could not be brought up to date. */
  freshSessionFile(): string | undefined {
    const { file, fresh } = this.#fileOf(this.#source.session());
    return fresh ? file : undefined;
  }

  #fileOf({ record }: CurrentSession): { file: string | undefined; fresh: boolean } {
    if (!record) return { file: undefined, fresh: false };
    let fresh = true;
    const failed = (reason: string): void => {
      fresh = false;
      this.#failed(reason);
    };
    const file = engineSessionFile(this.scope.host.slot, record.file, failed, this.#failed);
    return { file, fresh };
  }

  target(): SessionTarget {
    return this.#targetOf(this.#source.session());
  }

  #targetOf({ record, sessionKey }: CurrentSession): SessionTarget {
    const { host } = this.scope;
    return {
      agentId: host.agentId,
      sessionId: record?.sessionId ?? "",
      sessionKey,
      storePath: host.agentDir,
    };
  }

  runtime(): RuntimeContext {
    return this.#runtimeOf(this.#source.session());
  }

  #runtimeOf(session: CurrentSession): RuntimeContext {
    const { host, engine, model, harness, cwd, tokenBudget } = this.scope;
    const { turnId, guard } = this.#source;
    const { record, cursor, append } = session;
    const calibration = host.calibration(record, model.ref);
    const promptCache = this.#promptCache();
    return {
      config: host.config,
      provider: model.provider,
      model: model.ref,
      modelId: model.id,
      agentId: host.agentId,
      agentHarnessId: harness.id,
      cwd,
      ...defined({ turnId }),
      contextWindow: model.contextWindow,
      tokenBudget,
      ...(this.#last ? { usage: this.#last.usage, currentTokenCount: this.#last.usage.totalTokens } : {}),
      ...defined({ promptCache }),
      tokens: (value) => Math.ceil(calibration.apply(countTokens(value))),
      llm: { complete: this.#complete() },
      allowDeferredCompactionExecution: false,
      transcript: cursor,
      ...(record ? { sessionTarget: this.#targetOf(session) } : {}),
      ...(guard ? { degraded: this.#failed } : {}),
      ...(append ? { remember: (data) => append(engineEntry(engine, data)).id } : {}),
    };
  }

  settings(): RuntimeSettings {
    const { turnId, guard, fallbacks = [] } = this.#source;
    if (turnId === undefined || !guard) return runtimeSettings(this.scope, undefined);
    const { degraded } = guard;
    return runtimeSettings(this.scope, { degraded, causeOf: (each) => guard.causeOf(each), fallbacks });
  }

  #promptCache(): PromptCacheInfo | undefined {
    const calls = { last: this.#last, previous: this.#previous };
    return promptCacheInfo(this.scope.model, calls, this.#source.completions?.receipts().lastOwn());
  }

  /** Completions pass the same cost gate as any other request before they are sent. */
  #complete(): LlmComplete {
    const { host, model } = this.scope;
    const cost = this.#source.completions?.cost;
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
        if (unwritten !== undefined) this.#failed(unwritten);
        this.#completed(request, result);
        return result;
      } finally {
        allowed?.done();
      }
    };
  }

  #completed(asked: LlmCompleteRequest, result: LlmCompleteResult): void {
    const { completions } = this.#source;
    if (!completions) return;
    const { turnId, receipts, onUsage } = completions;
    const { harness, engine, tokenBudget } = this.scope;
    if (result.usage) onUsage?.(result.usage);
    const turn = { turnId, runtime: harness.id, engine: engine.info.id, tokenBudget };
    const sink = receipts();
    sink.append(completionReceipt(sink, asked, result, turn));
  }

  readonly #failed = (reason: string): void => this.#source.guard?.degrade("transcript", reason);
}

/** Context of a compaction or of maintenance between turns: completions are costs and receipts of the session, under a turn id of their own. */
export function contextBetweenTurns(
  scope: EngineScope & {
    host: { spend: SpendLedger; store: SessionStore; receipts(record: SessionRecord): ReceiptSink };
  },
  source: Required<Pick<EngineSource, "session" | "guard">>,
  { turnId, record }: { turnId: string; record(): SessionRecord },
): EngineContext {
  const { host, model } = scope;
  const cost = new CostGate({
    limits: costLimits(undefined, host.config.agents?.defaults?.maxCost),
    model,
    turnId,
    ledger: host.spend,
    sessionId: () => record().sessionId,
    held: heldCosts(host.store),
  });
  const receipts = (): ReceiptSink => host.receipts(record());
  const completions = { turnId, cost, receipts };
  return new EngineContext(scope, { ...source, completions }, lastUsageOf(receipts(), model));
}

function engineEntry({ info }: ContextEngine, data: unknown): NewEntry {
  return { type: "custom", customType: engineEntryType(info.id), data };
}
