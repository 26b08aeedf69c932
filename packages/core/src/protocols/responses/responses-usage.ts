/** Converts token counts between the Responses API and our format. */
import type { Usage } from "@pagurus/contract/message";
import { recordOf } from "../../data/record-fields.ts";
import { firstCount, plainCount } from "../answer-values.ts";
import type { ItemFields } from "./responses-items.ts";
import { defined } from "../../data/defined.ts";

/** Undefined if the provider sent none. */
export function readUsage(value: unknown): Usage | undefined {
  const counts = recordOf(value);
  const input = firstCount(counts, ["input_tokens", "prompt_tokens"]);
  const reported = firstCount(counts, ["output_tokens", "completion_tokens"]);
  if (input === undefined && reported === undefined) return undefined;
  const [all, output] = [input ?? 0, reported ?? 0];
  const details = recordOf(counts["input_tokens_details"] ?? counts["prompt_tokens_details"]);
  const cacheRead = plainCount(details["cached_tokens"]);
  const cacheWrite = plainCount(details["cache_write_tokens"]);
  const reasoning = plainCount(
    recordOf(counts["output_tokens_details"] ?? counts["completion_tokens_details"])["reasoning_tokens"],
  );
  return {
    input: Math.max(0, all - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    output,
    ...defined({ cacheRead, cacheWrite, reasoning }),
    totalTokens: plainCount(counts["total_tokens"]) ?? all + output,
  };
}

export function usageFields({
  input,
  output,
  cacheRead = 0,
  cacheWrite = 0,
  reasoning = 0,
}: Usage): ItemFields {
  const all = input + cacheRead + cacheWrite;
  return {
    input_tokens: all,
    input_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite > 0 ? { cache_write_tokens: cacheWrite } : {}),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: all + output,
  };
}
