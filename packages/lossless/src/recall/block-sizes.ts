/** How large the blocks of a turn may be. Each size grows with the budget, or stays. Decision 017. */
import type { LosslessSettings } from "../lossless-settings.ts";

/** Share of the free tokens that a block may take; the rest is for the turn. */
const FREE_SHARE = 0.85;
/** The same for a question where people only talk, since their turns seldom grow. */
const TALK_FREE_SHARE = 0.98;
/** The same for messages that only fill the budget: several turns fit beside them. */
const EARLIER_SHARE = 0.8;
/** Least tokens of the blocks of an epoch, where the budget has less above the trigger. */
const LEAST_SPARE = 3_400;

export interface Budget {
  /** Limit on the context, and the tokens at which a compaction is due. */
  limit: number;
  trigger: number;
  /** Tokens beside all that the context has, and those of blocks that stay until the epoch ends. */
  rest: number;
  lasting: number;
}

export interface BlockSizes {
  /** Most tokens for a question, for any other input, and for what only fills the budget. */
  question: number;
  other: number;
  earlier: number;
}

/** Tokens that blocks may take in a turn that grows: above the trigger, so that it makes the next epoch before it is over the budget. */
export function spareTokens({ limit, trigger, rest, lasting }: Budget): number {
  return Math.min(Math.floor(rest * FREE_SHARE), Math.max(limit - trigger, LEAST_SPARE) - lasting);
}

/** `isTalk`: people only talk. */
export function blockSizes({ recallTokens }: LosslessSettings, isTalk: boolean, budget: Budget): BlockSizes {
  const spare = spareTokens(budget);
  const ofFree = (share: number): number => Math.min(recallTokens, Math.floor(budget.rest * share));
  if (!isTalk) return { question: Math.min(recallTokens, spare), other: spare, earlier: 0 };
  return { question: ofFree(TALK_FREE_SHARE), other: spare, earlier: ofFree(EARLIER_SHARE) };
}
