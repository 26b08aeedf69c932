/** Quirks of the Messages API and of Claude models. */
import type { JSONObject, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { filledString } from "../../data/record-fields.ts";
import { MESSAGES_DIAGNOSING } from "./cache-diagnosis.ts";
import { asksToThink, NO_KEY, signedEach, type QuirkRow } from "./quirk-kinds.ts";

/**
 * Default output limit, which the protocol requires. Not the model's full limit: Anthropic refuses a request whose input and
 * limit together exceed the window.
 */
const OUTPUT_LIMIT = 32_000;

/** Claude models with adaptive thinking. They omit the text of their thinking unless a summary is requested. */
const ADAPTIVE_CLAUDE = /claude-(?:opus-4-[6-9]|sonnet-4-[6-9]|[a-z]+-[5-9])(?:\D|$)/;
const ADAPTIVE = { type: "adaptive", display: "summarized" };

/**
 * Claude models whose thinking is bound to its conversation; a compaction changes the messages before it. Source: the
 * "preserved thinking" page of Anthropic's documentation.
 */
const BOUND_CLAUDE = /claude-(?:fable-5-[1-9]|(?:opus|sonnet|haiku)-5-[5-9])(?:\D|$)/;
/** Makes the server drop thinking that a compaction has invalidated. */
const BOUND = { ...ADAPTIVE, blockBinding: { prefixMismatchBehavior: "drop_block" } };

function claudeOptions(thinking?: JSONObject): SharedV4ProviderOptions {
  // Fine-grained tool streaming would skip the server's check that the arguments are valid JSON.
  return { anthropic: { toolStreaming: false, ...(thinking ? { thinking } : {}) } };
}

export const ANTHROPIC_QUIRKS: readonly QuirkRow[] = [
  {
    name: "Messages API",
    api: "anthropic-messages",
    quirks: {
      async loadPackage(model, settings) {
        const { createAnthropic } = await import("@ai-sdk/anthropic");
        return createAnthropic({ apiKey: NO_KEY, ...settings })(model);
      },
      callOptions: () => claudeOptions(),
      outputLimit: OUTPUT_LIMIT,
      versionsAnyPath: true,
      imagesInResults: true,
      failedResults: true,
      cacheMarks: true,
      cacheDiagnosis: MESSAGES_DIAGNOSING,
      thinkingSignature(metadata) {
        const redacted = filledString(metadata?.["anthropic"]?.["redactedData"]);
        if (redacted) return { signature: redacted, redacted: true };
        const signature = filledString(metadata?.["anthropic"]?.["signature"]);
        return signature ? { signature } : {};
      },
      signedThinking: (parts) =>
        signedEach(parts, (signature, { redacted }) => ({
          anthropic: redacted ? { redactedData: signature } : { signature },
        })),
      // Models with a thinking budget do; the adaptive ones do not.
      refusesUnsignedLoops: true,
      overflowReason: "model_context_window_exceeded",
    },
  },
  {
    name: "Claude with adaptive thinking",
    api: "anthropic-messages",
    model: ADAPTIVE_CLAUDE,
    quirks: {
      callOptions: (facts) => claudeOptions(asksToThink(facts) ? ADAPTIVE : undefined),
      refusesUnsignedLoops: false,
    },
  },
  {
    name: "Claude with bound thinking",
    api: "anthropic-messages",
    model: BOUND_CLAUDE,
    quirks: {
      // These think by default, so the option only changes the display.
      callOptions: ({ thinking }) => claudeOptions(thinking === "none" ? undefined : BOUND),
      bindsThinking: true,
    },
  },
];
