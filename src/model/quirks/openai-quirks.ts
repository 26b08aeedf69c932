/** Quirks of the Responses API, and of OpenAI's own models in the Chat Completions API. */
import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ThinkingPart } from "../../contract/message.ts";
import { filledString, parseRecord } from "../../data/record-fields.ts";
import { RESPONSES_DIAGNOSING } from "./cache-diagnosis.ts";
import { asksToThink, NO_KEY, type CallFacts, type QuirkRow, type SignedThinking } from "./quirk-kinds.ts";

function cacheKeyOption({ cacheKey }: CallFacts): { promptCacheKey?: string } {
  return cacheKey === undefined ? {} : { promptCacheKey: cacheKey };
}

/** Our signature of a reasoning part: its item, as JSON. */
function itemOf({ signature }: ThinkingPart): { id: string; encrypted?: string } | undefined {
  const { id, encrypted } = parseRecord(signature ?? "") ?? {};
  if (typeof id !== "string") return undefined;
  return typeof encrypted === "string" ? { id, encrypted } : { id };
}

/**
 * One reasoning item is several parts, and only its last has the encrypted content. An item without any cannot be sent, because
 * nothing is stored at the provider.
 */
function signedItems(parts: readonly ThinkingPart[]): SignedThinking {
  const items = parts.map((part) => ({ part, item: itemOf(part) }));
  const complete = new Set(items.map(({ item }) => (item?.encrypted ? item.id : undefined)));
  const signed = new Map<ThinkingPart, SharedV4ProviderOptions>();
  for (const { part, item } of items) {
    if (!item || !complete.has(item.id)) continue;
    signed.set(part, {
      openai: { itemId: item.id, reasoningEncryptedContent: item.encrypted ?? null },
    });
  }
  return signed;
}

/** Models that OpenAI diagnoses cache misses of. */
const DIAGNOSED_GPT = /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/;

export const OPENAI_QUIRKS: readonly QuirkRow[] = [
  {
    name: "Responses API",
    api: "openai-responses",
    quirks: {
      async loadPackage(model, settings) {
        const { createOpenAI } = await import("@ai-sdk/openai");
        return createOpenAI({ apiKey: NO_KEY, ...settings }).responses(model);
      },
      callOptions: (facts) => ({
        openai: {
          // Nothing is stored at the provider: our transcript is the record. Reasoning then travels encrypted.
          store: false,
          strictJsonSchema: false,
          ...cacheKeyOption(facts),
          ...(facts.reasoning ? { forceReasoning: true } : {}),
          ...(asksToThink(facts) ? { reasoningSummary: "auto" } : {}),
        },
      }),
      // The Responses API is strict by default, and strict mode refuses schemas with optional properties.
      strictTools: false,
      // As `developer` for reasoning models.
      developerMessages: true,
      imagesInResults: true,
      encryptsThinking: true,
      // The encrypted content is valid once the part has ended.
      thinkingSignature(metadata, ended) {
        const id = filledString(metadata?.["openai"]?.["itemId"]);
        const encrypted = ended
          ? filledString(metadata?.["openai"]?.["reasoningEncryptedContent"])
          : undefined;
        return id ? { signature: JSON.stringify(encrypted ? { id, encrypted } : { id }) } : {};
      },
      signedThinking: signedItems,
    },
  },
  {
    name: "GPT-5.6 and later in the Responses API",
    api: "openai-responses",
    model: DIAGNOSED_GPT,
    quirks: { cacheDiagnosis: RESPONSES_DIAGNOSING },
  },
  {
    name: "OpenAI in the Chat Completions API",
    api: "openai-completions",
    provider: "openai",
    quirks: {
      // OpenAI's own models use other option names (max_completion_tokens); the others use the old names.
      async loadPackage(model, settings) {
        const { createOpenAI } = await import("@ai-sdk/openai");
        return createOpenAI({ apiKey: NO_KEY, ...settings }).chat(model);
      },
      callOptions: (facts) => ({ openai: { store: false, ...cacheKeyOption(facts) } }),
      developerMessages: true,
      joinsUserMessages: false,
    },
  },
];
