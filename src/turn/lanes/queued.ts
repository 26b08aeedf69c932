/**
 * The queued lane: a compaction that the host starts, before or between turns, on `/compact`, or to recover from an
 * overflow. Always the active engine's `compact()`, unless the configuration gives compaction to the runtime. A
 * failure leaves the history as it is. Source: context-engine page, `ownsCompaction`.
 */
import type { CompactParams, CompactResult } from "../../contract/engine-compaction.ts";
import { PagurusError } from "../../contract/errors.ts";
import type { CompactionTrigger } from "../../contract/events.ts";
import type { Usage } from "../../contract/message.ts";
import type { LlmComplete } from "../../contract/model.ts";
import { builtInCompaction } from "../../compaction/built-in.ts";
import { checkCompactResult } from "../answer-checks.ts";
import { runtimeCompacts } from "../gauge.ts";
import { missingCapabilities } from "../host-requirements.ts";
import { shortLine } from "../plugin-failure.ts";
import { addUsage, NO_USAGE } from "../usage.ts";
import { Announcement } from "./announce.ts";
import {
  BUILT_IN_SUMMARIZER,
  compactionDeadline,
  type CompactionOutcome,
  type LaneFacts,
  type LaneScope,
} from "./scope.ts";
import { rotate, successorOf, targetProblem } from "./successor.ts";
import { takeSummary } from "./take-summary.ts";

export interface QueuedRequest {
  trigger: CompactionTrigger;
  /** Estimate of the context as it is. */
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
  // Where the engine gives no count, nothing is claimed to be saved.
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
    runtimeContext: {
      ...runtimeContext,
      llm: { complete: countingUsage(runtimeContext.llm.complete, spent) },
    },
    tokenBudget,
    force: trigger !== "threshold",
    currentTokenCount: currentTokens,
    compactionTarget: trigger === "manual" ? "threshold" : "budget",
    ...(focus === undefined ? {} : { customInstructions: focus }),
  };
}

/** What the summary's own model calls have used. */
interface Spent {
  usage: Usage | undefined;
  /** The compaction has ended, if only by its deadline: what goes on behind it may cost nothing more. */
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

/** Writes the engine's summary, where it gave one; an engine may also keep its compactions to itself. */
function record(
  scope: LaneScope,
  facts: LaneFacts,
  answer: CompactResult,
  handledBy: string,
  usage: Usage | undefined,
): CompactionOutcome {
  const { result } = answer;
  if (result?.summary === undefined) return numbers(answer);
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
    tokensBefore: result.tokensBefore,
    tokensAfter: taken.tokensAfter,
    summary: result.summary,
  };
}

function numbers({ result }: CompactResult): CompactionOutcome {
  return {
    compacted: true,
    ...(typeof result?.tokensBefore === "number" ? { tokensBefore: result.tokensBefore } : {}),
    ...(typeof result?.tokensAfter === "number" ? { tokensAfter: result.tokensAfter } : {}),
    ...(result?.summary === undefined ? {} : { summary: result.summary }),
  };
}

function unmetText({ engine, harness }: LaneScope, missing: readonly string[]): string {
  return `the engine ${engine.info.id} needs ${missing.join(", ")} for a compaction, which the runtime ${harness.id} does not have`;
}

function refuse(scope: LaneScope, reason: string): CompactionOutcome {
  scope.guard.degrade("compact", reason);
  return { compacted: false, reason };
}
