/** The first half of the built-in compaction: what a plan is for, and whether it is worth making. */
import type { AgentMessage } from "../contract/message.ts";
import { renderSummary } from "../contract/summary.ts";
import { messageTokens } from "../tokens/messages.ts";
import { shapeOf } from "./cut-points.ts";
import { Pace } from "../platform/pace.ts";
import { planCompaction, type CompactionPlan } from "./plan.ts";

export interface RuntimePlanParams {
  /** A context as the store gives it; see `planCompaction`. */
  messages: readonly AgentMessage[];
  liveStart: number;
  /** Counts as half of `tokenBudget` where it is more. */
  keepRecentTokens: number;
  tokenBudget: number;
  /** Calibrated count of a message; the plain estimate where absent. */
  tokens?: (message: AgentMessage) => number;
  /** Entry ids of messages that no user wrote (fragments, notices); a summary never holds their words. */
  fragments?: ReadonlySet<string>;
}

/** A plan with what its summary is measured by. */
export interface RuntimePlan extends CompactionPlan {
  messages: readonly AgentMessage[];
  /** As it was applied. */
  keepRecentTokens: number;
  tokenBudget: number;
  tokens: (message: AgentMessage) => number;
}

/**
 * What a compaction has to gain: 5 % of the context, in a window of 32k about a turn with a tool call; at least 500
 * tokens, but of a context under 2,000 tokens no more than a quarter. Less would be gone in a request or two, and
 * each compaction costs a model call and the provider's cache.
 */
const LEAST_GAIN_SHARE = 0.05;
const LEAST_GAIN_TOKENS = 500;
const MOST_GAIN_ASKED = 0.25;
/** No summary says anything in fewer tokens. */
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

/** Estimated size of the context once the summary stands in it. */
export function tokensWith(plan: RuntimePlan, summary: string): number {
  const { messages, tokens, splitTurnInputId, firstKeptIndex } = plan;
  const input =
    splitTurnInputId === undefined ? [] : messages.filter(({ entryId }) => entryId === splitTurnInputId);
  const head: AgentMessage = { role: "user", content: renderSummary(summary) };
  return sumTokens([...input.slice(0, 1), head, ...messages.slice(firstKeptIndex)], tokens);
}

/** Tokens that a summary may have for the compaction to gain its least. */
export function summaryRoom(plan: RuntimePlan): number {
  return plan.tokensBefore - tokensWith(plan, "") - leastGain(plan.tokensBefore);
}

/**
 * Plans a compaction. `reason` says why there is nothing to do: all of the context is to stay, or what is older is
 * too little to be worth a summary. Counts each message once, in slices; throws `turn_aborted` when `signal` fires.
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
    tokens,
    shape,
    ...(fragments ? { fragments } : {}),
  });
  if ("reason" in plan) return plan;
  await pace.rest();
  const planned: RuntimePlan = { ...plan, messages, keepRecentTokens, tokenBudget, tokens };
  if (summaryRoom(planned) < SMALLEST_SUMMARY) {
    const most = Math.floor(plan.tokensBefore - tokensWith(planned, ""));
    return {
      reason:
        `There is nothing worth compacting: of ${Math.round(plan.tokensBefore)} tokens at most ` +
        `${Math.max(0, most)} would be gained.`,
    };
  }
  return planned;
}
