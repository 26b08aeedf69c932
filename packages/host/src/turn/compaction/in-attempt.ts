/**
 * The in-attempt lane: the loop's own threshold check, inside a turn. It emits `session_before_compact`; handlers run in order, the last
 * truthy result wins, `{cancel: true}` ends it. Order: the safeguard's, the plugins', the engine's interception. Without a supplied summary
 * the built-in summarizer makes it. Source: interceptCompaction specification.
 */
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { CompactionTrigger } from "@pagurus/contract/host/events";
import type { SessionBeforeCompact } from "@pagurus/contract/host/hook-parts";
import type { AgentMessage, Usage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { summaryOptions } from "@pagurus/core/compaction/built-in";
import { contextFromPath } from "@pagurus/core/compaction/compaction-context";
import { reservedTokens } from "@pagurus/core/compaction/policy";
import { prepareCompaction } from "@pagurus/core/compaction/preparation";
import { summarizePlan } from "@pagurus/core/compaction/runtime-compaction";
import { planRuntimeCompaction, type RuntimePlan } from "@pagurus/core/compaction/runtime-plan";
import { compactionSettings } from "@pagurus/core/compaction/compaction-settings";
import { checkCompactResult } from "../engine/answer-checks.ts";
import { summarizerName } from "../context/in-attempt-gauge.ts";
import { runHooks } from "../guard/turn-hooks.ts";
import { shortLine } from "../guard/plugin-failure.ts";
import { addUsage, NO_USAGE } from "@pagurus/core/tokens/add-usage";
import { Announcement, hookCall } from "./announce.ts";
import { intercept, replacementProblem } from "./interception.ts";
import {
  BUILT_IN_SUMMARIZER,
  compactionDeadline,
  type CompactionOutcome,
  type LaneFacts,
  type LaneScope,
} from "./lane-scope.ts";
import { takeSummary, type Summary } from "./take-summary.ts";
import { defined } from "@pagurus/core/data/defined";

/** A summary that a handler supplied, and the handler's name. */
interface Supplied {
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: unknown;
  handledBy: string;
  origin: Summary["origin"];
}

export async function compactInAttempt(
  scope: LaneScope,
  request: { trigger: CompactionTrigger; currentTokens: number },
): Promise<CompactionOutcome> {
  const plan = await planOf(scope);
  // Nothing to summarize: no compaction to announce, and none to intercept.
  if ("reason" in plan) return { compacted: false, reason: plan.reason };
  const facts: LaneFacts = { lane: "in-attempt", trigger: request.trigger, backend: scope.harness.id };
  const announcement = await Announcement.begin(scope, facts, request.currentTokens);
  const asked = await askHandlers(scope, facts, plan);
  if ("cancelledBy" in asked) {
    const reason = `it was cancelled by ${asked.cancelledBy}`;
    announcement.failed(reason, asked.cancelledBy);
    return { compacted: false, reason };
  }
  const supplied = asked.supplied && take(scope, facts, { ...asked.supplied, text: asked.supplied.summary });
  if (supplied?.compacted) {
    await announcement.completed({
      ...numbersOf(supplied, request),
      handledBy: asked.supplied?.handledBy ?? "",
    });
    return supplied;
  }
  const made = await builtIn(scope, facts, plan);
  if (made.compacted)
    await announcement.completed({ ...numbersOf(made, request), handledBy: summarizerName(scope.host) });
  else announcement.failed(made.reason ?? "nothing was compacted", summarizerName(scope.host));
  return made;
}

/** The part of the session's path to summarize, and the part to keep. */
async function planOf(scope: LaneScope): Promise<RuntimePlan | { reason: string }> {
  const { context, tokenBudget, host } = scope;
  const runtime = context.runtime();
  const { messages, liveStart, fragments } = await contextFromPath(runtime.transcript, scope.turnId);
  const { keepRecentTokens } = compactionSettings(host.config);
  const tokens = (message: AgentMessage): number => runtime.tokens(message);
  return planRuntimeCompaction({ messages, liveStart, fragments, keepRecentTokens, tokenBudget, tokens });
}

function numbersOf(
  outcome: CompactionOutcome,
  request: { currentTokens: number },
): { tokensBefore: number; tokensAfter: number } {
  return {
    tokensBefore: outcome.tokensBefore ?? request.currentTokens,
    tokensAfter: outcome.tokensAfter ?? 0,
  };
}

/**
 * Runs the handlers. The safeguard is first: its summary wins unless a later handler supplies another, so it is only written when it wins.
 * A handler that cancels ends the round.
 */
async function askHandlers(
  scope: LaneScope,
  facts: LaneFacts,
  plan: RuntimePlan,
): Promise<{ supplied?: Supplied } | { cancelledBy: string }> {
  const { host, engine, guard } = scope;
  const settings = compactionSettings(host.config);
  const { context, options } = hookCall(scope);
  let supplied: Supplied | undefined;
  if (host.hooks.hooks("session_before_compact").length > 0) {
    const payload = await hookPayload(scope, plan, settings.customInstructions);
    const { answers } = await runHooks(
      host.hooks,
      "session_before_compact",
      payload,
      context,
      { ...options, deadlineMs: compactionDeadline(scope) },
      { until: (result) => result.cancel === true },
    );
    for (const { pluginId, result } of answers) {
      if (result.cancel === true) return { cancelledBy: pluginId };
      if (!result.compaction) continue;
      const problem = replacementProblem(`the plugin ${pluginId}`, result.compaction);
      if (problem !== undefined) guard.degrade("hook", `session_before_compact: ${problem}`);
      else supplied = { ...result.compaction, handledBy: pluginId, origin: "hook" };
    }
  }
  if (engine.info.interceptsCompaction !== true) return supplied ? { supplied } : {};
  const answer = await intercept(scope, {
    facts,
    firstKeptEntryId: plan.firstKeptEntryId,
    tokensBefore: plan.tokensBefore,
    messages: plan.toSummarize,
    customInstructions: settings.customInstructions,
    deadlineMs: compactionDeadline(scope),
  });
  if (answer) supplied = { ...answer, handledBy: engine.info.id, origin: "engine" };
  return supplied ? { supplied } : {};
}

async function hookPayload(
  scope: LaneScope,
  plan: RuntimePlan,
  customInstructions: string | undefined,
): Promise<SessionBeforeCompact> {
  const { host, model, engine } = scope;
  const reserve = host.config.agents?.defaults?.compaction;
  const reserveTokens = reservedTokens(model.contextWindow, reserve, engine.info);
  const branchEntries: TranscriptEntry[] = [];
  // The start of the present context: messages covered by an earlier summary are left out.
  const first = plan.toSummarize[0]?.entryId;
  for await (const entry of scope.session.writer.cursor.backward()) {
    branchEntries.push(entry);
    if (entry.id === first) break;
  }
  branchEntries.reverse();
  return {
    preparation: structuredClone(prepareCompaction(plan, { enabled: true, reserveTokens })),
    branchEntries,
    ...defined({ customInstructions }),
    signal: scope.signal,
  };
}

/** The default: the built-in summarizer, which has no engine and cannot compact itself. */
async function builtIn(scope: LaneScope, facts: LaneFacts, plan: RuntimePlan): Promise<CompactionOutcome> {
  const { guard, signal, context } = scope;
  const runtime = context.runtime();
  let usage: Usage | undefined;
  const complete: typeof runtime.llm.complete = async (request) => {
    const result = await runtime.llm.complete(request);
    if (result.usage) usage = addUsage(usage ?? NO_USAGE, result.usage);
    return result;
  };
  const answer = await guard.call(
    "compact",
    (abortSignal) =>
      summarizePlan(plan, summaryOptions({ ...runtime, llm: { complete } }, { signal: abortSignal })),
    {
      signal,
      check: checkCompactResult,
      deadlineMs: compactionDeadline(scope),
      who: BUILT_IN_SUMMARIZER,
    },
  );
  if (!answer.ok) return { compacted: false, reason: answer.reason };
  const { value }: { value: CompactResult } = answer;
  if (!value.ok) {
    const reason = shortLine(value.reason ?? "nothing was compacted");
    guard.degrade("compact", reason);
    return { compacted: false, reason };
  }
  const result = value.result;
  if (!value.compacted || result?.summary === undefined || result.firstKeptEntryId === undefined) {
    return { compacted: false, reason: value.reason ?? "there was nothing to compact" };
  }
  return take(scope, facts, {
    text: result.summary,
    firstKeptEntryId: result.firstKeptEntryId,
    tokensBefore: result.tokensBefore,
    origin: result.origin ?? "extractive",
    handledBy: summarizerName(scope.host),
    usage,
    details: result.details,
  });
}

/** Applies a supplied summary. A refused one is a degradation, and the default follows. */
function take(scope: LaneScope, facts: LaneFacts, summary: Summary): CompactionOutcome {
  const taken = takeSummary(scope, facts, summary);
  if ("refused" in taken) {
    const stage = summary.origin === "hook" ? "hook" : summary.origin === "engine" ? "intercept" : "compact";
    const reason = `the summary of ${summary.handledBy} was not taken: ${taken.refused}`;
    scope.guard.degrade(stage, reason);
    return { compacted: false, reason };
  }
  return { compacted: true, ...taken, summary: summary.text };
}
