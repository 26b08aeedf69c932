/** The header that each protocol has for a key. */
import type { ModelApi } from "@pagurus/contract/model";

const BARE: Partial<Record<ModelApi, string>> = {
  "anthropic-messages": "x-api-key",
  "google-generative-ai": "x-goog-api-key",
};

/** `x-api-key: KEY` or `authorization: Bearer KEY`, by the protocol; empty without a key. */
export function keyHeader(api: ModelApi, key: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  const name = BARE[api];
  return name === undefined ? { authorization: `Bearer ${key}` } : { [name]: key };
}
