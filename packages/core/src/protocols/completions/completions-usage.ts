/** Token counts of the Chat Completions API, where tokens read from a cache are part of the prompt's. */
import type { Usage } from "@pagurus/contract/message";
import { recordOf } from "../../data/record-fields.ts";
import { firstCount, plainCount } from "../answer-values.ts";
import { defined } from "../../data/defined.ts";

/** Undefined if the server sent none. */
export function readUsage(value: unknown): Usage | undefined {
  const counts = recordOf(value);
  // Proxies use the names of other protocols; Ollama has its own.
  const prompt = firstCount(counts, ["prompt_tokens", "input_tokens", "prompt_eval_count"]);
  const output = firstCount(counts, ["completion_tokens", "output_tokens", "eval_count"]);
  if (prompt === undefined && output === undefined) return undefined;
  const details = recordOf(counts["prompt_tokens_details"] ?? counts["input_tokens_details"]);
  // DeepSeek's name, and Moonshot's.
  const cached = firstCount(counts, ["prompt_cache_hit_tokens", "cached_tokens"]);
  const cacheRead = plainCount(details["cached_tokens"]) ?? cached;
  const cacheWrite = plainCount(details["cache_write_tokens"]); // OpenRouter
  const outputs = recordOf(counts["completion_tokens_details"] ?? counts["output_tokens_details"]);
  const reasoning = plainCount(outputs["reasoning_tokens"]);
  const input = Math.max(0, (prompt ?? 0) - (cacheRead ?? 0) - (cacheWrite ?? 0));
  return {
    input,
    output: output ?? 0,
    ...defined({ cacheRead, cacheWrite, reasoning }),
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
