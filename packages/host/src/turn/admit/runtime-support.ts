/** Calls a runtime's `supports`. A plugin's runtime may throw: that is a result, not the end of a selection. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { ModelInfo } from "@pagurus/contract/model";
import type { SupportResult } from "@pagurus/contract/harness/runtimes";

/** `supports`; an exception is a reason like any other. Never throws. */
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
