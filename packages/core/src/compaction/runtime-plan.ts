/** Plans the built-in compaction, and skips it when the gain would be too small. */
import type { AgentMessage } from "@pagurus/contract/message";
import { renderSummary } from "@pagurus/contract/engine/summary";
import { messageTokens } from "../tokens/message-tokens.ts";
import { shapeOf } from "./cut-points.ts";
import { Pace } from "../platform/pace.ts";
import { planCompaction, type CompactionPlan } from "./compaction-plan.ts";
import { defined } from "../data/defined.ts";

export interface RuntimePlanParams {
  /** A context as the store returns it; see `planCompaction`. */
  messages: readonly AgentMessage[];
  liveStart: number;
  /** At most half of `tokenBudget`. */
  keepRecentTokens: number;
  /** See `planCompaction`; at most half of `tokenBudget`. */
  splitsAbove?: number;
  tokenBudget: number;
  /** Calibrated count of a message. Default: the uncalibrated estimate. */
  tokens?: (message: AgentMessage) => number;
  /** Entry ids of messages that no user wrote (fragments, notices); a summary never contains their text. */
  fragments?: ReadonlySet<string>;
}

/** A plan with the limits for its summary. */
export interface RuntimePlan extends CompactionPlan {
  messages: readonly AgentMessage[];
  /** The applied value. */
  keepRecentTokens: number;
  tokenBudget: number;
  tokens: (message: AgentMessage) => number;
}

/**
 * Minimum gain of a compaction: 5 % of the context (in a window of 32k about one turn with a tool call) and at least
 * 500 tokens, but no more than a quarter of a context under 2,000 tokens. A smaller gain would be used up in a request
 * or two, and each compaction costs a model call and the provider's cache.
 */
const LEAST_GAIN_SHARE = 0.05;
const LEAST_GAIN_TOKENS = 500;
const MOST_GAIN_ASKED = 0.25;
/** Minimum useful size of a summary, tokens. */
const SMALLEST_SUMMARY = 50;

export function leastGain(tokensBefore: number): number {
  return Math.max(
    tokensBefore * LEAST_GAIN_SHARE,
    Math.min(LEAST_GAIN_TOKENS, tokensBefore * MOST_GAIN_ASKED),
  );
}

function sumTokens(messages: readonly AgentMessage[], tokens: (message: AgentMessage) => number): number {
  return messages.reduce((total, message) => total + tokens(message), 0);
}

/** Estimated tokens of the context with the summary in place. */
export function tokensWith(plan: RuntimePlan, summary: string): number {
  const { messages, tokens, splitTurnInputId, firstKeptIndex } = plan;
  const input =
    splitTurnInputId === undefined ? [] : messages.filter(({ entryId }) => entryId === splitTurnInputId);
  const head: AgentMessage = { role: "user", content: renderSummary(summary) };
  return sumTokens([...input.slice(0, 1), head, ...messages.slice(firstKeptIndex)], tokens);
}

/** Largest summary with which the compaction still reaches its minimum gain, tokens. */
export function summaryLimit(plan: RuntimePlan): number {
  return plan.tokensBefore - tokensWith(plan, "") - leastGain(plan.tokensBefore);
}

/**
 * Plans a compaction. `reason` says why there is nothing to do: the whole context is kept, or the older messages are
 * too few to be worth a summary. Counts each message once, in slices; throws `turn_aborted` when `signal` fires.
 */
export async function planRuntimeCompaction(
  params: RuntimePlanParams & { signal?: AbortSignal },
): Promise<RuntimePlan | { reason: string }> {
  const { messages, liveStart, tokenBudget, fragments } = params;
  const pace = new Pace(params.signal);
  const counted = new Map<AgentMessage, number>();
  const tokens = (message: AgentMessage): number => {
    let count = counted.get(message);
    if (count === undefined) counted.set(message, (count = (params.tokens ?? messageTokens)(message)));
    return count;
  };
  await pace.each(messages, tokens);
  const shape = shapeOf(params);
  await pace.rest();
  const keepRecentTokens = Math.min(params.keepRecentTokens, Math.floor(tokenBudget / 2));
  const plan = planCompaction({
    messages,
    liveStart,
    keepRecentTokens,
    splitsAbove: Math.min(params.splitsAbove ?? keepRecentTokens, Math.floor(tokenBudget / 2)),
    tokens,
    shape,
    ...defined({ fragments }),
  });
  if ("reason" in plan) return plan;
  await pace.rest();
  const planned: RuntimePlan = { ...plan, messages, keepRecentTokens, tokenBudget, tokens };
  if (summaryLimit(planned) < SMALLEST_SUMMARY) {
    const most = Math.floor(plan.tokensBefore - tokensWith(planned, ""));
    return {
      reason:
        `There is nothing worth compacting: of ${Math.round(plan.tokensBefore)} tokens at most ` +
        `${Math.max(0, most)} would be gained.`,
    };
  }
  return planned;
}
