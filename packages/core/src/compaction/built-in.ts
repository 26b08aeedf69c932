/** The built-in compaction as an engine's `compact()`, with options read from the session's path and configuration. */
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { AgentMessage } from "@pagurus/contract/message";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { contextFromPath } from "./compaction-context.ts";
import { Pace } from "../platform/pace.ts";
import type { SummaryOptions } from "./runtime-compaction.ts";
import { compactionSettings } from "./compaction-settings.ts";
import { defined } from "../data/defined.ts";

/** A context smaller than this is not worth a forced compaction. Tokens. */
const SMALLEST_FORCED = 1_000;
/** The model's share of the compaction deadline; the rest is reserved for the extract when the model hangs. */
const MODEL_SHARE_OF_DEADLINE = 0.9;
/** Assumed window of a summarizing model that is not the session's; few models have less. Tokens. */
const UNKNOWN_WINDOW = 32_000;
/** Limit on the correction by the host's count: a larger factor means that it counts something else. */
const MOST_CORRECTION = 3;

/** Options of `summarizePlan` from the configuration: model and its window, mode, policy, instructions, deadline. */
export function summaryOptions(
  context: RuntimeContext,
  asked: { customInstructions?: string | undefined; signal?: AbortSignal | undefined },
): SummaryOptions {
  const settings = compactionSettings(context.config);
  const { model } = settings;
  const other = model !== undefined && model !== context.model;
  const offline = (model?.split("/")[0] ?? context.provider) === "offline";
  const instructions = [settings.customInstructions, asked.customInstructions].filter((text) => text);
  const complete: SummaryOptions["llm"] = (request) =>
    context.llm.complete(other ? { ...request, model } : request);
  return {
    windowTokens: other ? Math.min(context.contextWindow, UNKNOWN_WINDOW) : context.contextWindow,
    timeoutMs: Math.floor(settings.timeoutSeconds * 1_000 * MODEL_SHARE_OF_DEADLINE),
    mode: settings.mode,
    identifierPolicy: settings.identifierPolicy,
    ...(offline ? {} : { llm: complete }),
    ...(instructions.length > 0 ? { customInstructions: instructions.join("\n") } : {}),
    ...defined({ signal: asked.signal }),
  };
}

/**
 * Compacts the session of `context.transcript`, for engine `legacy` and for engines that use
 * `delegateCompactionToRuntime`. `currentTokenCount` corrects the estimate upwards. Skips a compaction that is not
 * forced and has the budget as its target while that count is below the budget. Throws `turn_aborted` when
 * `params.abortSignal` fires, and any error of the transcript cursor.
 */
export async function builtInCompaction(
  params: CompactParams,
  context: RuntimeContext,
): Promise<CompactResult> {
  const { currentTokenCount: current, compactionTarget, abortSignal: signal } = params;
  const { keepRecentTokens } = compactionSettings(context.config);
  const { messages, liveStart, fragments } = await contextFromPath(context.transcript, context.turnId);
  // Counts are cached by message, so the synchronous count below costs next to nothing.
  await new Pace(signal).each(messages, (message) => context.tokens(message));
  const estimate = context.tokens(messages);
  const tokenBudget = params.tokenBudget ?? context.tokenBudget;
  const force = params.force ?? context.manualCompaction ?? false;
  const total = Math.max(estimate, current ?? 0);
  if (!force && compactionTarget === "budget" && current !== undefined && total < tokenBudget) {
    const reason = `There is nothing to compact: ${Math.round(total)} tokens are within the budget of ${tokenBudget}.`;
    return { ok: true, compacted: false, reason };
  }
  const factor = estimate > 0 ? Math.min(MOST_CORRECTION, total / estimate) : 1;
  // A forced compaction runs even when the whole context would fit in the kept tail.
  const forced = force && total >= SMALLEST_FORCED;
  const most = forced ? Math.floor(total / 2) : keepRecentTokens;
  const { compactByRuntime } = await import("./runtime-compaction.ts");
  return await compactByRuntime({
    messages,
    liveStart,
    fragments,
    keepRecentTokens: Math.min(keepRecentTokens, most),
    splitsAbove: keepRecentTokens,
    tokenBudget,
    tokens: (message: AgentMessage) => Math.ceil(context.tokens(message) * factor),
    ...summaryOptions(context, { customInstructions: params.customInstructions, signal }),
  });
}
