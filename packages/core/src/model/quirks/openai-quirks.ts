/** Quirks of the Responses API, and of OpenAI's own models in the Chat Completions API. */
import type { ThinkingPart } from "@pagurus/contract/message";
import { reasoningItem } from "../../protocols/responses/responses-reasoning.ts";
import { RESPONSES_DIAGNOSING } from "./cache-diagnosis.ts";
import { nearestEffort, type Reasoning } from "./efforts.ts";
import { asksToThink, type CallFacts, type QuirkRow } from "./quirk-kinds.ts";
import { defined } from "../../data/defined.ts";

/** Ids of OpenAI's reasoning models. */
const REASONS = /^(?:o\d+(?:-|$)|gpt-(?!\d+-chat)(?:[5-9]|\d\d)(?:\.\d+)?(?:-|$))/;
const SINCE_5_1: readonly Reasoning[] = ["none", "low", "medium", "high"];
/** Levels of thinking by model; any other has all of them. The first pattern that matches counts. */
const EFFORTS: readonly (readonly [pattern: RegExp, efforts: readonly Reasoning[]])[] = [
  [plainGpt("5"), ["minimal", "low", "medium", "high"]],
  [plainGpt("5\\.1"), SINCE_5_1],
  [plainGpt("5\\.\\d+"), [...SINCE_5_1, "xhigh"]],
  [/^gpt-(?:6\.1-terra|6-luna|6-sol)$/, [...SINCE_5_1, "xhigh"]],
  [/^gpt-(?:[6-9]|\d\d)(?:\.\d+)?(?:-|$)/, ["low", "medium", "high", "xhigh"]],
];
/** A version without the variants whose levels are not known. */
function plainGpt(version: string): RegExp {
  return new RegExp(`^gpt-${version}(?:-(?:mini|nano|sol|luna|terra))?(?:-\\d{4}-\\d\\d-\\d\\d)?$`);
}
/** Models that refuse tools in the Chat Completions API unless thinking is off. */
const TOOLS_WITHOUT_THINKING = /^gpt-5\.(?:[6-9]|\d\d)(?:-|$)/;

function cacheKeyMember({ cacheKey }: CallFacts): { prompt_cache_key?: string } {
  return cacheKey === undefined ? {} : { prompt_cache_key: cacheKey };
}

function effortOf({ model, thinking }: CallFacts): Reasoning | undefined {
  const efforts = EFFORTS.find(([pattern]) => pattern.test(model))?.[1];
  return thinking === undefined || !efforts ? thinking : nearestEffort(thinking, efforts);
}

function isReasoning({ reasoning, model }: CallFacts): boolean {
  return reasoning || REASONS.test(model);
}

/** An item without encrypted content cannot be sent back, because nothing is stored at the provider. */
function completeItems(parts: readonly ThinkingPart[]): readonly ThinkingPart[] {
  const complete = new Set(
    parts.flatMap((part) => {
      const { id, encrypted } = reasoningItem(part) ?? {};
      return encrypted === undefined ? [] : [id];
    }),
  );
  return parts.filter((part) => complete.has(reasoningItem(part)?.id));
}

/** Models that OpenAI diagnoses cache misses of. */
const DIAGNOSED_GPT = /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/;

export const OPENAI_QUIRKS: readonly QuirkRow[] = [
  {
    name: "Responses API",
    api: "openai-responses",
    quirks: {
      loadProtocol: async () => (await import("../protocols/responses.ts")).RESPONSES,
      members(facts) {
        const effort = effortOf(facts);
        const summary = asksToThink(facts) ? "auto" : "detailed";
        const thinks = effort === undefined ? {} : { effort, ...(effort === "none" ? {} : { summary }) };
        return {
          ...defined({ max_output_tokens: facts.maxOutputTokens }),
          // Nothing is stored at the provider: our transcript is the record. Reasoning then travels encrypted.
          store: false,
          ...(isReasoning(facts) ? { include: ["reasoning.encrypted_content"] } : {}),
          ...cacheKeyMember(facts),
          ...(effort === undefined ? {} : { reasoning: thinks }),
        };
      },
      unsupportedShape: ({ stop }) => (stop?.length ? "stop sequences" : undefined),
      systemRole: (facts) => (isReasoning(facts) ? "developer" : "system"),
      developerMessages: true,
      imagesInResults: true,
      plainSchemas: true,
      sendableThinking: completeItems,
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
      members(facts) {
        const { model, maxOutputTokens, hasTools } = facts;
        const effort = hasTools && TOOLS_WITHOUT_THINKING.test(model) ? "none" : effortOf(facts);
        const limit = REASONS.test(model) ? "max_completion_tokens" : "max_tokens";
        return {
          ...(maxOutputTokens === undefined ? {} : { [limit]: maxOutputTokens }),
          store: false,
          ...defined({ reasoning_effort: effort }),
          ...cacheKeyMember(facts),
        };
      },
      systemRole: ({ model }) => (REASONS.test(model) ? "developer" : "system"),
      developerMessages: true,
      joinsUserMessages: false,
      plainSchemas: true,
    },
  },
];
