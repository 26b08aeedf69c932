import type { Usage } from "@pagurus/contract/message";
import type { ModelCost } from "@pagurus/contract/model";

/** The provider's counts with their cost; without one where no prices are known. */
export function pricedUsage(usage: Usage, cost: ModelCost | undefined): Usage {
  return cost ? { ...usage, cost: costOf(usage, cost) } : usage;
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
