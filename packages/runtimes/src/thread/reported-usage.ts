/** Tokens of a request as the programs that run turns report them. */
import type { Usage } from "@pagurus/contract/message";
import { countOf, recordOf } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

/** A program's names for the counts that have no common one. */
interface CountNames {
  cacheRead: string;
  cacheWrite: string;
  reasoning: string;
  /** Absent when its total is always that of input and output. */
  total?: string;
}

/**
 * Undefined without the tokens of input and output, and for zeros, which some programs report when their model reported nothing. Other missing
 * counts stay missing.
 */
export function reportedUsage(value: unknown, names: CountNames): Usage | undefined {
  const usage = recordOf(value);
  const [input, output] = [countOf(usage["inputTokens"]), countOf(usage["outputTokens"])];
  if (input === undefined || output === undefined) return undefined;
  const [cacheRead, cacheWrite] = [countOf(usage[names.cacheRead]), countOf(usage[names.cacheWrite])];
  const reasoning = countOf(usage[names.reasoning]);
  const totalTokens = countOf(names.total && usage[names.total]) ?? input + output;
  if (Math.max(input, output, cacheRead ?? 0, cacheWrite ?? 0, totalTokens) === 0) return undefined;
  // Some programs include cached tokens in the input, others count them separately; the total decides.
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
  const isBeside = totalTokens >= input + output + cached;
  return {
    input: isBeside ? input : Math.max(0, input - cached),
    output,
    ...defined({ cacheRead, cacheWrite, reasoning }),
    totalTokens,
  };
}
