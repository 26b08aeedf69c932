/** Refused requests that a smaller context may cure although no words of the server say so: by their size beside the window. */
import { PagurusError } from "@pagurus/contract/errors";
import { estimateTokens } from "../tokens/estimate.ts";
import type { Failure } from "./model-failure.ts";
import { learnWindow, windowIn } from "./learned-windows.ts";
import type { ResolvedModel } from "./provider-types.ts";

const TOO_LARGE = 413;
/** Statuses of requests that are refused as they are. */
const REFUSALS: ReadonlySet<unknown> = new Set([400, TOO_LARGE, 422]);
/** Share of the window from which a request counts as near it: estimates are off by a tenth, and tools and system text count. */
const NEAR_WINDOW_SHARE = 0.85;
/** Runs of base64, whose tokens are counted otherwise. */
const DATA = /[A-Za-z0-9+/=_-]{2000,}/g;

/** A refusal with the status, of a request that was as large as its model's window, or near it. `body`: as it was sent. */
export function isRefusedNearWindow(status: unknown, body: string, contextWindow: number): boolean {
  if (!REFUSALS.has(status)) return false;
  return status === TOO_LARGE || sizeOf(body) >= contextWindow * NEAR_WINDOW_SHARE;
}

/** Tokens of a request's body, without its images and files. */
function sizeOf(body: string): number {
  return estimateTokens(body.replaceAll(DATA, ""));
}

/**
 * The failure as a context overflow, which is compacted and tried once, if the request was near or over the known window; else the
 * failure as it is. A window that the server's words name is remembered. `body`: the request as it was sent.
 */
export function withOverflowEvidence(failure: Failure, model: ResolvedModel, body: string): Failure {
  const { error } = failure;
  const { ref, contextWindow } = model.info;
  if (error.code === "context_overflow") {
    const named = windowIn(error.message);
    if (named !== undefined && named < contextWindow) learnWindow(model, named);
    return failure;
  }
  const { status } = error.details;
  if (error.code !== "model_bad_request" || failure.staleThinking === true) return failure;
  if (!isRefusedNearWindow(status, body, contextWindow)) return failure;
  const near =
    status === TOO_LARGE ? "is too large" : `has about ${sizeOf(body)} tokens, near the window of "${ref}"`;
  const sentence = `${error.message.replace(/\.$/, "")}; the request ${near}.`;
  return { error: new PagurusError("context_overflow", sentence, { details: error.details }), retries: 0 };
}
