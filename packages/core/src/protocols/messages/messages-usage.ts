/** Token counts of the Messages API, where the input excludes tokens of the cache. */
import type { Usage } from "@pagurus/contract/message";
import { type Fields, recordOf, recordsOf } from "../../data/record-fields.ts";
import { firstCount, plainCount } from "../answer-values.ts";
import { defined } from "../../data/defined.ts";

const COUNTS = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
] as const;

/** The counts with those of the provider's own compactions, which only `iterations` has. */
function withCompactions(counts: Fields): Fields {
  const compactions = recordsOf(counts["iterations"]).filter(({ type }) => type === "compaction");
  if (compactions.length === 0) return counts;
  const sums = COUNTS.map((name) => {
    const more = compactions.reduce((sum, each) => sum + (plainCount(each[name]) ?? 0), 0);
    return [name, more === 0 ? counts[name] : (plainCount(counts[name]) ?? 0) + more];
  });
  return { ...counts, ...Object.fromEntries(sums) };
}

/** Undefined if the provider sent none. */
export function readUsage(value: unknown): Usage | undefined {
  const counts = withCompactions(recordOf(value));
  const input = firstCount(counts, ["input_tokens", "prompt_tokens"]);
  const output = firstCount(counts, ["output_tokens", "completion_tokens"]);
  if (input === undefined && output === undefined) return undefined;
  const cacheRead = plainCount(counts["cache_read_input_tokens"]);
  const cacheWrite = plainCount(counts["cache_creation_input_tokens"]);
  const reasoning = plainCount(recordOf(counts["output_tokens_details"])["thinking_tokens"]);
  return {
    input: input ?? 0,
    output: output ?? 0,
    ...defined({ cacheRead, cacheWrite, reasoning }),
    totalTokens: (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0) + (output ?? 0),
  };
}

export function usageFields({ input, output, cacheRead, cacheWrite }: Usage): Record<string, number> {
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite ?? 0,
    cache_read_input_tokens: cacheRead ?? 0,
    output_tokens: output,
  };
}
