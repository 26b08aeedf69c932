/**
 * The queued lane: a compaction that the host starts, before or between turns, on `/compact`, or to recover from an
 * overflow. Always the active engine's `compact()`. A failure leaves the history as it is.
 */
import type { ContextEngine } from "../contract/engine.ts";
import type { CompactResult } from "../contract/engine-params.ts";
import type { Usage } from "../contract/message.ts";
import type { LlmComplete } from "../contract/model.ts";
import type { RuntimeContext, RuntimeSettings } from "../contract/runtime-context.ts";
import { PagurusError } from "../contract/errors.ts";
import type { CompactionTrigger, TurnEvent } from "../contract/events.ts";
import type { SessionWriter } from "../contract/store.ts";
import type { AgentHost } from "./scope.ts";
import { checkCompactResult } from "./answer-checks.ts";
import type { Guard } from "./guard.ts";
import { runHooks } from "./hooks.ts";
import { addUsage, NO_USAGE } from "./usage.ts";

export interface CompactionRequest {
  host: AgentHost;
  engine: ContextEngine;
  guard: Guard;
  writer: SessionWriter;
  /** A transcript for the engine to read: our file for bundled engines, a copy for others. */
  sessionFile: string;
  trigger: CompactionTrigger;
  /** Entry of the live turn's input, inside a turn. */
  inputEntryId?: string | undefined;
  /** Tokens the context may have afterwards. */
  tokenBudget: number;
  currentTokens: number;
  focus?: string | undefined;
  runtimeContext: RuntimeContext;
  runtimeSettings: RuntimeSettings;
  signal: AbortSignal;
  emit(event: TurnEvent): void;
}

export interface CompactionOutcome {
  compacted: boolean;
  reason?: string;
  tokensBefore?: number;
  tokensAfter?: number;
}

export async function compactQueued(request: CompactionRequest): Promise<CompactionOutcome> {
  const { host, engine, guard, trigger, currentTokens, emit, signal } = request;
  const facts = {
    lane: "queued",
    trigger,
    backend: "engine",
    ownsCompaction: engine.info.ownsCompaction === true,
  } as const;
  const context = {
    sessionKey: request.writer.record.sessionKey,
    sessionId: request.writer.record.sessionId,
    agentId: host.agentId,
  };
  const hookOptions = {
    signal,
    logger: host.logger,
    onFailure: (reason: string) => guard.degrade("hook", reason),
  };
  emit({ type: "compaction.started", ...facts, tokensBefore: currentTokens });
  await runHooks(
    host.hooks,
    "before_compaction",
    { lane: facts.lane, trigger, tokensBefore: currentTokens },
    context,
    hookOptions,
  );

  const outcome = await askEngine(request);
  if (!outcome.compacted) {
    emit({ type: "compaction.failed", ...facts, reason: outcome.reason ?? "nothing was compacted" });
    return outcome;
  }
  const tokensBefore = outcome.tokensBefore ?? currentTokens;
  const tokensAfter = outcome.tokensAfter ?? 0;
  emit({ type: "compaction.completed", ...facts, tokensBefore, tokensAfter, handledBy: engine.info.id });
  await runHooks(
    host.hooks,
    "after_compaction",
    { lane: facts.lane, trigger, tokensBefore, tokensAfter },
    context,
    hookOptions,
  );
  return outcome;
}

async function askEngine(request: CompactionRequest): Promise<CompactionOutcome> {
  const { engine, guard, writer, signal, host, trigger } = request;
  const seconds = host.config.agents?.defaults?.compaction?.timeoutSeconds;
  const spent: Spent = { usage: undefined };
  const answer = await guard.call(
    "compact",
    (abortSignal) =>
      engine.compact({
        sessionId: writer.record.sessionId,
        sessionKey: writer.record.sessionKey,
        sessionFile: request.sessionFile,
        tokenBudget: request.tokenBudget,
        force: trigger !== "threshold",
        currentTokenCount: request.currentTokens,
        compactionTarget: trigger === "manual" ? "threshold" : "budget",
        ...(request.focus === undefined ? {} : { customInstructions: request.focus }),
        runtimeContext: {
          ...request.runtimeContext,
          llm: { complete: countingUsage(request.runtimeContext.llm.complete, spent) },
          manualCompaction: trigger === "manual",
        },
        runtimeSettings: request.runtimeSettings,
        abortSignal,
      }),
    { signal, check: checkCompactResult, deadlineMs: seconds === undefined ? undefined : seconds * 1000 },
  );
  if (!answer.ok) return { compacted: false, reason: answer.reason };
  if (!answer.value.ok || !answer.value.compacted) {
    return { compacted: false, reason: answer.value.reason ?? "the engine had nothing to compact" };
  }
  return record(request, answer.value, spent.usage);
}

/** What the summary's own model calls have used. */
interface Spent {
  usage: Usage | undefined;
}

function countingUsage(complete: LlmComplete, spent: Spent): LlmComplete {
  return async (params) => {
    const result = await complete(params);
    if (result.usage) spent.usage = addUsage(spent.usage ?? NO_USAGE, result.usage);
    return result;
  };
}

/** Writes the engine's summary, where it gave one, as the session's new head. */
async function record(
  request: CompactionRequest,
  answer: CompactResult,
  usage: Usage | undefined,
): Promise<CompactionOutcome> {
  const { writer, guard, inputEntryId } = request;
  const result = answer.result;
  if (result?.summary !== undefined) {
    const { firstKeptEntryId } = result;
    if (firstKeptEntryId === undefined || !(await onPath(writer, firstKeptEntryId))) {
      return refuse(guard, "compact() names no first kept entry on the session's path");
    }
    // Ids sort in the order of writing: a cut behind the input splits the live turn, whose input always stays.
    const splits = inputEntryId !== undefined && firstKeptEntryId > inputEntryId;
    try {
      writer.append({
        type: "compaction",
        summary: result.summary,
        firstKeptEntryId,
        ...(splits ? { splitTurnInputId: inputEntryId } : {}),
        tokensBefore: result.tokensBefore,
        ...(result.tokensAfter === undefined ? {} : { tokensAfter: result.tokensAfter }),
        origin: result.origin ?? "engine",
        ...(usage ? { usage } : {}),
        ...(result.details === undefined ? {} : { details: result.details }),
      });
    } catch (error) {
      if (error instanceof PagurusError) throw error;
      return refuse(guard, "compact() returned details that cannot be written as JSON");
    }
  }
  return {
    compacted: true,
    ...(result?.tokensBefore === undefined ? {} : { tokensBefore: result.tokensBefore }),
    ...(result?.tokensAfter === undefined ? {} : { tokensAfter: result.tokensAfter }),
  };
}

function refuse(guard: Guard, reason: string): CompactionOutcome {
  guard.degrade("compact", reason);
  return { compacted: false, reason };
}

/** A cut nearly always lies near the end, so the path is walked from there; ids sort in the order of writing. */
async function onPath(writer: SessionWriter, entryId: string): Promise<boolean> {
  if (!(await writer.cursor.get(entryId))) return false;
  for await (const entry of writer.cursor.backward()) {
    if (entry.id <= entryId) return entry.id === entryId;
  }
  return false;
}
