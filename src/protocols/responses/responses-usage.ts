/** Converts token counts between the Responses API and our format. */
import type { Usage } from "../../contract/message.ts";
import { countOf, recordOf } from "../../data/record-fields.ts";
import type { ItemFields } from "./responses-items.ts";

/** Undefined if the provider sent none. */
export function readUsage(value: unknown): Usage | undefined {
  const counts = recordOf(value);
  const all = countOf(counts["input_tokens"]);
  const output = countOf(counts["output_tokens"]);
  if (all === undefined || output === undefined) return undefined;
  const details = recordOf(counts["input_tokens_details"]);
  const cacheRead = countOf(details["cached_tokens"]);
  const cacheWrite = countOf(details["cache_write_tokens"]);
  const reasoning = countOf(recordOf(counts["output_tokens_details"])["reasoning_tokens"]);
  return {
    input: Math.max(0, all - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
    totalTokens: countOf(counts["total_tokens"]) ?? all + output,
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
