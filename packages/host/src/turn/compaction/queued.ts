/**
 * The queued lane: a compaction that the host starts, before or between turns, on `/compact`, or to recover from an overflow. Always the
 * active engine's `compact()`, unless the configuration leaves compaction to the runtime. A failure leaves the history unchanged. Source:
 * context-engine page, `ownsCompaction`.
 */
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import { PagurusError } from "@pagurus/contract/errors";
import type { CompactionTrigger } from "@pagurus/contract/host/events";
import type { Usage } from "@pagurus/contract/message";
import type { LlmComplete } from "@pagurus/contract/model";
import { builtInCompaction } from "@pagurus/core/compaction/built-in";
import { checkCompactResult } from "../engine/answer-checks.ts";
import { runtimeCompacts } from "../context/in-attempt-gauge.ts";
import { ENGINE_COMPACTION_ENTRY, type EngineCompaction } from "../record/engine-compaction-entry.ts";
import { missingCapabilities } from "../selection/host-requirements.ts";
import { shortLine } from "../guard/plugin-failure.ts";
import { addUsage, NO_USAGE } from "@pagurus/core/tokens/add-usage";
import { Announcement } from "./announce.ts";
import {
  BUILT_IN_SUMMARIZER,
  compactionDeadline,
  type CompactionOutcome,
  type LaneFacts,
  type LaneScope,
} from "./lane-scope.ts";
import { rotate, successorOf, targetProblem } from "./compaction-successor.ts";
import { takeSummary } from "./take-summary.ts";
import { defined } from "@pagurus/core/data/defined";

export interface QueuedRequest {
  trigger: CompactionTrigger;
  /** Token estimate of the context before the compaction. */
  currentTokens: number;
  focus?: string | undefined;
}

export async function compactQueued(scope: LaneScope, request: QueuedRequest): Promise<CompactionOutcome> {
  const { host, engine, harness } = scope;
  const native = runtimeCompacts(host);
  const backend = native ? harness.id : "engine";
  const facts: LaneFacts = { lane: "queued", trigger: request.trigger, backend };
  const announcement = await Announcement.begin(scope, facts, request.currentTokens);
  const handledBy = native ? "built-in" : engine.info.id;
  const outcome = await ask(scope, request, facts, handledBy, native);
  if (!outcome.compacted) {
    announcement.failed(outcome.reason ?? "nothing was compacted", handledBy);
    return outcome;
  }
  const { tokensBefore = request.currentTokens } = outcome;
  // Without a count from the engine no saving is reported.
  const { tokensAfter = tokensBefore } = outcome;
  await announcement.completed({ tokensBefore, tokensAfter, handledBy });
  return outcome;
}

async function ask(
  scope: LaneScope,
  request: QueuedRequest,
  facts: LaneFacts,
  handledBy: string,
  native: boolean,
): Promise<CompactionOutcome> {
  const { engine, guard, session, signal } = scope;
  if (!native) {
    const unmet = missingCapabilities(engine, scope.harness, "compaction");
    if (unmet.length > 0) return refuse(scope, unmetText(scope, unmet));
  }
  const spent: Spent = { usage: undefined, over: false };
  const params = compactParams(scope, request, spent);
  const answer = await guard.call(
    "compact",
    (abortSignal) =>
      native
        ? builtInCompaction({ ...params, abortSignal }, params.runtimeContext)
        : engine.compact({ ...params, abortSignal }),
    {
      signal,
      check: checkCompactResult,
      deadlineMs: compactionDeadline(scope),
      who: native ? BUILT_IN_SUMMARIZER : undefined,
    },
  );
  spent.over = true;
  if (!answer.ok) return { compacted: false, reason: answer.reason };
  const { value } = answer;
  if (!value.ok) {
    const why = shortLine(value.reason ?? "it gave no reason");
    return refuse(scope, native ? why : `The engine ${engine.info.id} could not compact: ${why}`);
  }
  if (!value.compacted) {
    return { compacted: false, reason: shortLine(value.reason ?? "the engine had nothing to compact") };
  }
  const successor = native ? undefined : successorOf(value, session.writer.record.sessionId);
  if (successor) {
    const problem = targetProblem(scope, value) ?? (await rotate(scope, successor));
    return problem === undefined ? numbers(value) : refuse(scope, problem);
  }
  return record(scope, facts, value, handledBy, spent.usage);
}

function compactParams(
  scope: LaneScope,
  request: QueuedRequest,
  spent: Spent,
): CompactParams & { runtimeContext: NonNullable<CompactParams["runtimeContext"]> } {
  const { context, tokenBudget } = scope;
  const { trigger, currentTokens, focus } = request;
  const base = context.fileBase({ manualCompaction: trigger === "manual" });
  const { runtimeContext } = base;
  return {
    ...base,
    agentId: base.sessionTarget.agentId,
    runtimeContext: {
      ...runtimeContext,
      llm: { complete: countingUsage(runtimeContext.llm.complete, spent) },
    },
    tokenBudget,
    force: trigger !== "threshold",
    currentTokenCount: currentTokens,
    compactionTarget: trigger === "manual" ? "threshold" : "budget",
    ...defined({ customInstructions: focus }),
  };
}

/** Usage of the summary's own model calls. */
interface Spent {
  usage: Usage | undefined;
  /** The compaction has ended, if only by its deadline: calls that continue after it must not cost anything. */
  over: boolean;
}

function countingUsage(complete: LlmComplete, spent: Spent): LlmComplete {
  return async (params) => {
    if (spent.over) {
      throw new PagurusError("deadline_exceeded", "The compaction that this completion is for has ended.");
    }
    const result = await complete(params);
    if (result.usage) spent.usage = addUsage(spent.usage ?? NO_USAGE, result.usage);
    return result;
  };
}

/** Writes the engine's summary, if it returned one; an engine may also keep its compactions in its own store. */
function record(
  scope: LaneScope,
  facts: LaneFacts,
  answer: CompactResult,
  handledBy: string,
  usage: Usage | undefined,
): CompactionOutcome {
  const { result } = answer;
  if (result?.summary === undefined) return noted(scope, facts, numbers(answer), handledBy);
  if (result.firstKeptEntryId === undefined) {
    return refuse(scope, "compact() gives a summary and names no first kept entry");
  }
  const taken = takeSummary(scope, facts, {
    text: result.summary,
    firstKeptEntryId: result.firstKeptEntryId,
    splitTurnInputId: result.splitTurnInputId,
    tokensBefore: result.tokensBefore,
    origin: result.origin ?? "engine",
    handledBy,
    usage,
    details: result.details,
  });
  if ("refused" in taken) return refuse(scope, `the summary of compact() was not taken: ${taken.refused}`);
  return {
    compacted: true,
    tokensBefore: taken.tokensBefore,
    tokensAfter: taken.tokensAfter,
    summary: result.summary,
  };
}

/** An entry for a compaction that the engine keeps in its own store. */
function noted(
  { session }: LaneScope,
  { trigger }: LaneFacts,
  outcome: CompactionOutcome,
  handledBy: string,
): CompactionOutcome {
  const { tokensBefore = 0, tokensAfter } = outcome;
  const data: EngineCompaction = {
    lane: "queued",
    trigger,
    handledBy,
    tokensBefore,
    ...defined({ tokensAfter }),
  };
  session.writer.append({ type: "custom", customType: ENGINE_COMPACTION_ENTRY, data: { ...data } });
  return outcome;
}

function numbers({ result }: CompactResult): CompactionOutcome {
  return {
    compacted: true,
    ...(typeof result?.tokensBefore === "number" ? { tokensBefore: result.tokensBefore } : {}),
    ...(typeof result?.tokensAfter === "number" ? { tokensAfter: result.tokensAfter } : {}),
    ...defined({ summary: result?.summary }),
  };
}

function unmetText({ engine, harness }: LaneScope, missing: readonly string[]): string {
  return `the engine ${engine.info.id} needs ${missing.join(", ")} for a compaction, which the runtime ${harness.id} does not have`;
}

function refuse(scope: LaneScope, reason: string): CompactionOutcome {
  scope.guard.degrade("compact", reason);
  return { compacted: false, reason };
}
