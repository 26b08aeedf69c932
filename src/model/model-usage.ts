import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Usage } from "../contract/message.ts";
import type { ModelCost } from "../contract/model.ts";

/** Converts the provider's counts. Undefined when it reported none: zeros are never invented. */
export function toUsage(reported: LanguageModelV4Usage, cost: ModelCost | undefined): Usage | undefined {
  const { inputTokens, outputTokens } = reported;
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined;
  const { cacheRead, cacheWrite } = inputTokens;
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
  const input = inputTokens.noCache ?? Math.max(0, (inputTokens.total ?? 0) - cached);
  const output = outputTokens.total ?? 0;
  const usage: Usage = { input, output, totalTokens: input + cached + output };
  if (cacheRead !== undefined) usage.cacheRead = cacheRead;
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite;
  if (outputTokens.reasoning !== undefined) usage.reasoning = outputTokens.reasoning;
  if (cost) usage.cost = costOf(usage, cost);
  return usage;
}

/** US dollars of one call. Reasoning is part of the output; an unknown cache price is the input's. */
export function costOf(usage: Usage, cost: ModelCost): number {
  return (
    (usage.input * cost.input +
      usage.output * cost.output +
      (usage.cacheRead ?? 0) * (cost.cacheRead ?? cost.input) +
      (usage.cacheWrite ?? 0) * (cost.cacheWrite ?? cost.input)) /
    1_000_000
  );
}
