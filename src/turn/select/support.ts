/** Asking a runtime about a model. A plugin's runtime may throw: that is an answer, not the end of a selection. */
import { toPagurusError } from "../../contract/errors.ts";
import type { AgentHarness } from "../../contract/harness.ts";
import type { ModelInfo } from "../../contract/model.ts";
import type { SupportResult } from "../../contract/runtimes.ts";

/** `supports`; what it throws is a reason like another. Never throws. */
export function supportOf(harness: AgentHarness, model: ModelInfo): SupportResult {
  try {
    const support = harness.supports(model);
    return support.supported ? support : { supported: false, reason: support.reason };
  } catch (error) {
    return { supported: false, reason: notAsked(harness, error) };
  }
}

/** One sentence. */
export function notAsked({ id }: AgentHarness, error: unknown): string {
  return `The runtime ${id} could not be asked: ${toPagurusError(error).message.replace(/\.?$/, ".")}`;
}
