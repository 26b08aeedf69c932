/**
 * Counts the texts around the base instructions that a thread shows. Codex appends a changed text and keeps the ones before it, which the
 * model still sees and the user still pays for. Decision: docs/decisions/028-replaced-instructions.md.
 */
import type { AssembledContext, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { ModelCost } from "@pagurus/contract/model";
import type { ReceiptPart } from "@pagurus/contract/session/receipt";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { hashOf } from "../thread/thread-state.ts";

type Copy = Pick<ReceiptPart, "tokens" | "bytes" | "hash">;

/** Instructions that a thread shows, in the state of its binding. */
export interface ShownInstructions {
  /** Oldest first; the last one is in force, the others were replaced. */
  copies: readonly Copy[];
  /** Tokens of replaced copies, added up over all requests so far. */
  carried: number;
}

/** Share of the input's price at which a provider's cache is read, if the model's prices are unknown. */
const CACHED_SHARE = 0.1;
/** Cost of a new thread besides the conversation, as tokens of input: its start, and the provider's cache of the old one. */
const START_TOKENS = 2_000;
/** Largest share of the budget that replaced copies may take, so that a turn can grow. */
const MOST_OF_BUDGET = 1 / 4;

function copyOf(text: string): Copy {
  return {
    tokens: estimateTokens(text),
    bytes: Buffer.byteLength(text),
    hash: hashOf(text).slice(0, 16),
  };
}

/** Of a thread that begins with this text. */
export function firstShown(text: string): ShownInstructions {
  return { copies: text === "" ? [] : [copyOf(text)], carried: 0 };
}

/** After a turn's text was shown, which Codex appends where it differs from the newest one. */
export function nowShown(shown: ShownInstructions, text: string): ShownInstructions {
  const copy = copyOf(text);
  if (shown.copies.at(-1)?.hash === copy.hash) return shown;
  return { ...shown, copies: [...shown.copies, copy] };
}

/** After Codex compacted the thread, which leaves the text in force alone. */
export function afterCompaction({ copies }: ShownInstructions): ShownInstructions {
  return { copies: copies.slice(-1), carried: 0 };
}

export function afterRequests(shown: ShownInstructions, requests: number): ShownInstructions {
  return { ...shown, carried: shown.carried + requests * staleTokens(shown) };
}

export function staleTokens({ copies }: ShownInstructions): number {
  return copies.slice(0, -1).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Parts of a receipt for the replaced copies. */
export function staleParts({ copies }: ShownInstructions): ReceiptPart[] {
  return copies.slice(0, -1).map((copy) => ({ source: "addition", role: "system", ...copy, stale: true }));
}

/** A cached token's price as a share of one that is not cached. */
function cachedShare(cost: ModelCost | undefined): number {
  if (!cost?.cacheRead || !(cost.input > cost.cacheRead)) return CACHED_SHARE;
  return cost.cacheRead / cost.input;
}

/**
 * Whether a new thread costs less than this one, or replaced copies take tokens that the conversation needs. By cost: once the copies
 * were read for as much as a new thread costs, which reads the conversation without the provider's cache.
 */
export function isPastBound(
  shown: ShownInstructions,
  { estimatedTokens }: Pick<AssembledContext, "estimatedTokens">,
  { model, tokenBudget }: Pick<HarnessTurn, "model" | "tokenBudget">,
): boolean {
  const stale = staleTokens(shown);
  if (stale === 0) return false;
  if (stale > tokenBudget * MOST_OF_BUDGET || stale + estimatedTokens > tokenBudget) return true;
  const share = cachedShare(model.cost);
  const newest = shown.copies.at(-1)?.tokens ?? 0;
  const conversation = Math.max(0, estimatedTokens - newest);
  return (shown.carried + stale) * share > (conversation + START_TOKENS) * (1 - share);
}
