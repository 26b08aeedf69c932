import type { RuntimeContext, RuntimeSettings } from "../contract/runtime-context.ts";
import type { AgentMessage, Usage } from "../contract/message.ts";
import type { LlmComplete, LlmCompleteRequest, LlmCompleteResult, ModelInfo } from "../contract/model.ts";
import type { TranscriptCursor } from "../contract/transcript.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { messagesTokens, messageTokens } from "../tokens/messages.ts";
import type { AgentHost } from "./scope.ts";

export type OnCompletion = (asked: LlmCompleteRequest, result: LlmCompleteResult) => void;

export interface RuntimeContextInput {
  host: AgentHost;
  sessionId: string;
  model: ModelInfo;
  harnessId: string;
  cwd: string;
  turnId?: string | undefined;
  tokenBudget: number;
  transcript: TranscriptCursor;
  lastUsage?: Usage | undefined;
  /** Told of each completion that the engine asked for, so that its cost is counted. */
  onCompletion?: OnCompletion | undefined;
}

/** Builds what every engine member gets from the running host. Nothing is invented: what is unknown is left out. */
export function buildRuntimeContext(input: RuntimeContextInput): RuntimeContext {
  const { host, sessionId, model, harnessId, cwd, turnId, tokenBudget, transcript, lastUsage } = input;
  const summaryModel = host.config.agents?.defaults?.compaction?.model ?? model.ref;
  const calibration = host.calibration(sessionId, model.ref);
  const cacheKnown = lastUsage?.cacheRead !== undefined || lastUsage?.cacheWrite !== undefined;
  return {
    config: host.config,
    provider: model.provider,
    model: model.ref,
    modelId: model.id,
    agentId: host.agentId,
    agentHarnessId: harnessId,
    cwd,
    ...(turnId === undefined ? {} : { turnId }),
    tokenBudget,
    ...(lastUsage ? { usage: lastUsage, currentTokenCount: lastUsage.totalTokens } : {}),
    ...(lastUsage && cacheKnown ? { promptCache: { lastCallUsage: cacheUsage(lastUsage) } } : {}),
    tokens: (value) => Math.ceil(calibration.apply(countTokens(value))),
    llm: { complete: counted(host.complete(summaryModel), input.onCompletion) },
    allowDeferredCompactionExecution: true,
    transcript,
  };
}

function counted(complete: LlmComplete, onCompletion: RuntimeContextInput["onCompletion"]): LlmComplete {
  if (!onCompletion) return complete;
  return async (request) => {
    const result = await complete(request);
    onCompletion(request, result);
    return result;
  };
}

function cacheUsage(usage: Usage): NonNullable<NonNullable<RuntimeContext["promptCache"]>["lastCallUsage"]> {
  return {
    input: usage.input,
    output: usage.output,
    ...(usage.cacheRead === undefined ? {} : { cacheRead: usage.cacheRead }),
    ...(usage.cacheWrite === undefined ? {} : { cacheWrite: usage.cacheWrite }),
    total: usage.totalTokens,
  };
}

function countTokens(value: string | AgentMessage | readonly AgentMessage[]): number {
  if (typeof value === "string") return estimateTokens(value);
  return Array.isArray(value)
    ? messagesTokens(value as readonly AgentMessage[])
    : messageTokens(value as AgentMessage);
}

export function buildRuntimeSettings(input: RuntimeContextInput): RuntimeSettings {
  const { host, model, harnessId, tokenBudget } = input;
  return {
    schemaVersion: 1,
    runtime: { host: "pagurus", mode: "normal", harnessId, runtimeId: harnessId },
    model: { requested: model.ref, resolved: model.ref, provider: model.provider },
    contextEngineSelection: { selectedId: host.slot.id, source: host.slot.source },
    limits: { promptTokenBudget: tokenBudget, maxOutputTokens: model.maxTokens },
  };
}
