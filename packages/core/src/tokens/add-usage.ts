import type { Usage } from "@pagurus/contract/message";

export const NO_USAGE: Usage = { input: 0, output: 0, totalTokens: 0 };

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined && right === undefined ? undefined : (left ?? 0) + (right ?? 0);
}

/** Adds two usages; a count that neither reported stays absent. */
export function addUsage(left: Usage, right: Usage): Usage {
  const optional = {
    cacheRead: sum(left.cacheRead, right.cacheRead),
    cacheWrite: sum(left.cacheWrite, right.cacheWrite),
    reasoning: sum(left.reasoning, right.reasoning),
    cost: sum(left.cost, right.cost),
  };
  const known = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return {
    input: left.input + right.input,
    output: left.output + right.output,
    totalTokens: left.totalTokens + right.totalTokens,
    ...known,
  };
}

/** All tokens of a call's input, read from a cache or not. */
export function inputTokens(usage: Usage): number {
  return usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
}
