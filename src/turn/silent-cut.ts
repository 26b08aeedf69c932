import type { ModelInfo } from "../contract/model.ts";
import type { Receipt } from "../contract/receipt.ts";

/** A server that truncates silently is caught by its own count: less than this share of the estimate was read. */
const CUT_SHARE = 0.75;
/** Below this share of the estimate a report of such a server is not learned from: it may be a small cut. */
const TRUSTED_SHARE = 0.9;
/** Requests smaller than this say nothing about a cut, tokens. */
const SMALLEST_CUT = 2_000;
/** A count that stays within this share while the request grows by more than `GROWTH` is a window that is full. */
const SAME = 0.02;
const GROWTH = 0.05;

/** A request's input tokens, estimated and as the server reported them. */
export interface Counted {
  estimated: number;
  reported: number;
}

/**
 * Whether a server read so much less than was sent that it must have cut the input, or reports the same count for a
 * request that has grown since `before`.
 */
export function isSilentCut(model: ModelInfo, now: Counted, before?: Counted): boolean {
  if (!model.truncatesSilently || now.estimated <= SMALLEST_CUT) return false;
  if (now.reported < now.estimated * CUT_SHARE) return true;
  if (!before || now.estimated < before.estimated * (1 + GROWTH)) return false;
  return Math.abs(now.reported - before.reported) <= before.reported * SAME;
}

/** Whether a report tells how well tokens are estimated, and not how much was cut. */
export function isTrusted(model: ModelInfo, now: Counted): boolean {
  return (
    !model.truncatesSilently || now.estimated <= SMALLEST_CUT || now.reported >= now.estimated * TRUSTED_SHARE
  );
}

/**
 * Whether the estimate is of all that was sent. A runtime that owns its loop adds a prompt and tools of its own, 10,000
 * tokens and more, of which a receipt knows nothing: its reports would be taken for words that are estimated too low.
 */
export function isWhole({ seam }: Pick<Receipt, "seam">): boolean {
  return seam === "native";
}
