import type { ModelInfo } from "../contract/model.ts";

/** A server that truncates silently is caught by its own count: less than this share of the estimate was read. */
const CUT_SHARE = 0.6;
/** Requests smaller than this say nothing about a cut, tokens. */
const SMALLEST_CUT = 2_000;

/**
 * Whether a server read so much less than was sent that it must have cut the input. `estimated` and `reported` are
 * the request's input tokens. Such a report says nothing about how well tokens are estimated.
 */
export function isSilentCut(model: ModelInfo, estimated: number, reported: number): boolean {
  return model.truncatesSilently === true && estimated > SMALLEST_CUT && reported < estimated * CUT_SHARE;
}
