/** Token counts of the Chat Completions API, where tokens read from a cache are part of the prompt's. */
import type { Usage } from "../../contract/message.ts";
import { countOf, recordOf } from "../../data/record-fields.ts";

/** Undefined if the server sent none. */
export function readUsage(value: unknown): Usage | undefined {
  const counts = recordOf(value);
  const prompt = countOf(counts["prompt_tokens"]);
  const output = countOf(counts["completion_tokens"]);
  if (prompt === undefined && output === undefined) return undefined;
  const details = recordOf(counts["prompt_tokens_details"]);
  const cacheRead = countOf(details["cached_tokens"]) ?? countOf(counts["prompt_cache_hit_tokens"]); // DeepSeek's name
  const cacheWrite = countOf(details["cache_write_tokens"]); // OpenRouter
  const reasoning = countOf(recordOf(counts["completion_tokens_details"])["reasoning_tokens"]);
  const input = Math.max(0, (prompt ?? 0) - (cacheRead ?? 0) - (cacheWrite ?? 0));
  return {
    input,
    output: output ?? 0,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
    totalTokens: input + (cacheRead ?? 0) + (cacheWrite ?? 0) + (output ?? 0),
  };
}

export function usageFields(usage: Usage): Record<string, unknown> {
  const { input, output, cacheRead = 0, cacheWrite = 0, reasoning } = usage;
  const prompt = input + cacheRead + cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite > 0 ? { cache_write_tokens: cacheWrite } : {}),
    },
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
