/** Quirks of Google's generateContent. */
import type { SharedV4ProviderMetadata, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { filledString } from "../../data/record-fields.ts";
import { asksToThink, NO_KEY, signedEach, type QuirkRow } from "./quirk-kinds.ts";

function signatureOf(metadata: SharedV4ProviderMetadata | undefined): string | undefined {
  return filledString(metadata?.["google"]?.["thoughtSignature"]);
}

function signatureOption(signature: string): SharedV4ProviderOptions {
  return { google: { thoughtSignature: signature } };
}

export const GOOGLE_QUIRKS: readonly QuirkRow[] = [
  {
    name: "generateContent API",
    api: "google-generative-ai",
    quirks: {
      async loadPackage(model, settings) {
        const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
        return createGoogleGenerativeAI({ apiKey: NO_KEY, ...settings })(model);
      },
      callOptions: (facts) =>
        asksToThink(facts) ? { google: { thinkingConfig: { includeThoughts: true } } } : {},
      versionPath: "/v1beta",
      imagesInResults: true,
      thinkingSignature(metadata) {
        const signature = signatureOf(metadata);
        return signature ? { signature } : {};
      },
      signedThinking: (parts) => signedEach(parts, signatureOption),
      callSignature: signatureOf,
      signedCall: signatureOption,
    },
  },
];
