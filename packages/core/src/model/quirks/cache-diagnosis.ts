/**
 * A provider's diagnosis of prompt cache misses: a member of the request names an earlier answer, and the answer says what differs
 * since. Names and shapes are those of the packages `@anthropic-ai/sdk` 1.14 (`diagnostics`) and `openai` 7.57
 * (`prompt_cache_diagnostics`).
 */
/** Endpoints whose providers document the member; another one may reject what it does not know. */
const OWN_HOSTS: ReadonlySet<string> = new Set(["api.anthropic.com", "api.openai.com"]);

export function diagnosesAt(baseUrl: string): boolean {
  return OWN_HOSTS.has(URL.parse(baseUrl)?.host ?? "");
}

/** How a protocol asks for the diagnosis. */
export interface CacheDiagnosing {
  /**
   * Name and value of the body's member. `previousId`: the provider's id of the answer to compare with; null: there is none yet.
   * Undefined where nothing can be asked without one.
   */
  member(previousId: string | null): readonly [name: string, value: object] | undefined;
}

export const MESSAGES_DIAGNOSING: CacheDiagnosing = {
  // Anthropic stores what it compares only of requests that have the member.
  member: (previousId) => ["diagnostics", { previous_message_id: previousId }],
};

export const RESPONSES_DIAGNOSING: CacheDiagnosing = {
  member: (previousId) =>
    previousId === null ? undefined : ["prompt_cache_options", { comparison_response_id: previousId }],
};
