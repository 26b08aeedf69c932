/** Tokens as the Responses API counts them, and as we do. */
import type { Usage } from "../../../../contract/message.ts";
import type { ItemFields } from "../../../../responses/items.ts";
import { countOf, fieldsOf } from "../../json/fields.ts";

/** Undefined where the provider tells none. */
export function usageSaid(value: unknown): Usage | undefined {
  const said = fieldsOf(value);
  const all = countOf(said["input_tokens"]);
  const output = countOf(said["output_tokens"]);
  if (all === undefined || output === undefined) return undefined;
  const details = fieldsOf(said["input_tokens_details"]);
  const cacheRead = countOf(details["cached_tokens"]);
  const cacheWrite = countOf(details["cache_write_tokens"]);
  const reasoning = countOf(fieldsOf(said["output_tokens_details"])["reasoning_tokens"]);
  return {
    input: Math.max(0, all - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
    totalTokens: countOf(said["total_tokens"]) ?? all + output,
  };
}

export function usageTold({
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
