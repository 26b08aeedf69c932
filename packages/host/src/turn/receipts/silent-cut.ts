import type { ModelInfo } from "@pagurus/contract/model";
import type { Receipt } from "@pagurus/contract/session/receipt";

/** A reported count below this share of the estimate means that the server truncated the input silently. */
const CUT_SHARE = 0.75;
/** A count of such a server below this share of the estimate does not calibrate: it may be a small cut. */
const TRUSTED_SHARE = 0.9;
/** Smaller requests are not checked for a cut, tokens. */
const SMALLEST_CUT = 2_000;
/** A count that stays within this share while the request grows by more than `CUT_GROWTH` means a full window. */
const SAME = 0.02;
const CUT_GROWTH = 0.05;

/** A request's input tokens, estimated and as the server reported them. */
export interface Counted {
  estimated: number;
  reported: number;
}

/**
 * Whether a server read so much less than was sent that it must have cut the input, or reports the same count for a request that has grown
 * since `before`.
 */
export function isSilentCut(model: ModelInfo, now: Counted, before?: Counted): boolean {
  if (!model.truncatesSilently || now.estimated <= SMALLEST_CUT) return false;
  if (now.reported < now.estimated * CUT_SHARE) return true;
  if (!before || now.estimated < before.estimated * (1 + CUT_GROWTH)) return false;
  return Math.abs(now.reported - before.reported) <= before.reported * SAME;
}

/** Whether a report can calibrate the estimates, rather than show a cut. */
export function isTrusted(model: ModelInfo, now: Counted): boolean {
  return (
    !model.truncatesSilently || now.estimated <= SMALLEST_CUT || now.reported >= now.estimated * TRUSTED_SHARE
  );
}

/**
 * Whether the estimate covers all that was sent. A runtime that owns its loop adds a prompt and tools of its own, 10,000 tokens and more,
 * which are not in the receipt: its reports would be mistaken for estimates that are too low.
 */
export function isWhole({ seam }: Pick<Receipt, "seam">): boolean {
  return seam === "embedded";
}
