/**
 * A provider's diagnosis of prompt cache misses: a member of the request names an earlier answer, and the answer says what differs
 * since. Names and shapes are those of the packages `@anthropic-ai/sdk` 1.14 (`diagnostics`) and `openai` 7.57
 * (`prompt_cache_diagnostics`).
 */
import type { CacheDiagnosis } from "../../contract/session/receipt.ts";
import { countOf, filledString, isRecord, recordOf } from "../../data/record-fields.ts";

/** Endpoints whose providers document the member; another one may reject what it does not know. */
const OWN_HOSTS: ReadonlySet<string> = new Set(["api.anthropic.com", "api.openai.com"]);

export function diagnosesAt(baseUrl: string): boolean {
  return OWN_HOSTS.has(URL.parse(baseUrl)?.host ?? "");
}

/** How a protocol asks for the diagnosis, and reads it. */
export interface CacheDiagnosing {
  /**
   * Name and value of the body's member. `previousId`: the provider's id of the answer to compare with; null: there is none yet.
   * Undefined where nothing can be asked without one.
   */
  member(previousId: string | null): readonly [name: string, value: object] | undefined;
  /** The diagnosis in an event of the answer, or in a whole answer. Undefined where it has none. */
  read(event: unknown): CacheDiagnosis | undefined;
}

export const MESSAGES_DIAGNOSING: CacheDiagnosing = {
  // Anthropic stores what it compares only of requests that have the member.
  member: (previousId) => ["diagnostics", { previous_message_id: previousId }],
  read: (event) => {
    const message = recordOf(event);
    const { diagnostics } = message["type"] === "message_start" ? recordOf(message["message"]) : message;
    if (!isRecord(diagnostics)) return undefined;
    const found = recordOf(diagnostics["cache_miss_reason"]);
    return diagnosis(found["type"], found["cache_missed_input_tokens"], "pending");
  },
};

export const RESPONSES_DIAGNOSING: CacheDiagnosing = {
  member: (previousId) =>
    previousId === null ? undefined : ["prompt_cache_options", { comparison_response_id: previousId }],
  read: (event) => {
    const fields = recordOf(event);
    const response = isRecord(fields["response"]) ? fields["response"] : fields;
    const found = response["prompt_cache_diagnostics"];
    if (!isRecord(found)) return undefined;
    const reason = found["type"] === "cache_hit" ? "none" : (found["reason"] ?? found["type"]);
    return diagnosis(reason, found["cache_missed_tokens"], "unavailable");
  },
};

function diagnosis(reason: unknown, missed: unknown, otherwise: string): CacheDiagnosis {
  const missedTokens = countOf(missed);
  return {
    reason: filledString(reason) ?? otherwise,
    ...(missedTokens === undefined ? {} : { missedTokens }),
  };
}
