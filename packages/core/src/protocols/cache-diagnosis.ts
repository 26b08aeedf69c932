/** A provider's diagnosis of prompt cache misses, as answers of two protocols have it. */
import type { CacheDiagnosis } from "@pagurus/contract/session/receipt";
import { countOf, filledString, isRecord, recordOf } from "../data/record-fields.ts";
import { defined } from "../data/defined.ts";

/** In an event of a Messages answer, or in a whole one; undefined if it has none. */
export function messagesDiagnosis(event: unknown): CacheDiagnosis | undefined {
  const message = recordOf(event);
  const { diagnostics } = message["type"] === "message_start" ? recordOf(message["message"]) : message;
  if (!isRecord(diagnostics)) return undefined;
  const found = recordOf(diagnostics["cache_miss_reason"]);
  return diagnosis(found["type"], found["cache_missed_input_tokens"], "pending");
}

/** In an event of a Responses answer, or in a whole one; undefined if it has none. */
export function responsesDiagnosis(event: unknown): CacheDiagnosis | undefined {
  const fields = recordOf(event);
  const response = isRecord(fields["response"]) ? fields["response"] : fields;
  const found = response["prompt_cache_diagnostics"];
  if (!isRecord(found)) return undefined;
  const reason = found["type"] === "cache_hit" ? "none" : (found["reason"] ?? found["type"]);
  return diagnosis(reason, found["cache_missed_tokens"], "unavailable");
}

function diagnosis(reason: unknown, missed: unknown, otherwise: string): CacheDiagnosis {
  const missedTokens = countOf(missed);
  return { reason: filledString(reason) ?? otherwise, ...defined({ missedTokens }) };
}
