/** Quirks of Google's generateContent. */
import { BUDGET_SHARE, nearestEffort, type Reasoning } from "./efforts.ts";
import {
  asksToThink,
  type CallFacts,
  hasVerbosity,
  type QuirkRow,
  type RequestBody,
  signedThinking,
} from "./quirk-kinds.ts";
import { defined } from "../../data/defined.ts";

/**
 * Ids of models that are no older than Gemini 3. They reject a call without a signature, take images inside of a result, and take
 * thinking as a level. An unknown id of a Gemini model counts as a new one.
 */
const GEMINI_3 = /(?:^|[/.])gemini-(?!1(?:[.-]|$)|2(?:[.-]|$)|pro(?:-vision)?$|robotics-er-1\.5(?:[.-]|$))/i;
/** The one of them that takes thinking as a budget. */
const BUDGETED = /gemini-3-pro-image/;
/** Models whose lowest level is `low`; that of the others is `minimal`. */
const LOW_AT_LEAST =
  /(?:^|[/.])gemini-(?:4-hydrogen(?:-|$)|flash-latest$|(?:[3-9]|\d\d)(?:\.\d+)?-pro(?:$|-)|(?:3\.(?:[7-9]|\d\d)|(?:[4-9]|\d\d)\.\d+)-flash(?:$|-(?!lite(?:-|$))))/i;

const XHIGH = /(?:^|[/.])gemini-4-hydrogen(?:-|$)/i;
/** A budget of thinking is a share of it. */
const LONGEST_ANSWER = 65_536;

/** Level or budget, for models that have one of both. */
function amountOf({ model, thinking }: CallFacts): RequestBody {
  if (thinking === undefined) return {};
  if (GEMINI_3.test(model) && !BUDGETED.test(model)) {
    const levels: Reasoning[] = ["low", "medium", "high"];
    if (!LOW_AT_LEAST.test(model)) levels.push("minimal");
    if (XHIGH.test(model)) levels.push("xhigh");
    return { thinkingLevel: nearestEffort(thinking, levels) };
  }
  const isPro = /2\.5-pro/i.test(model);
  const least = isPro ? 128 : 0;
  if (thinking === "none") return { thinkingBudget: least };
  const most = isPro || /gemini-3-pro-image/i.test(model) ? 32_768 : 24_576;
  return {
    thinkingBudget: Math.min(most, Math.max(least, Math.round(LONGEST_ANSWER * BUDGET_SHARE[thinking]))),
  };
}

export const GOOGLE_QUIRKS: readonly QuirkRow[] = [
  {
    name: "generateContent API",
    api: "google-generative-ai",
    quirks: {
      loadProtocol: async () => (await import("../protocols/gemini.ts")).GEMINI,
      members: (facts) => {
        const { maxOutputTokens, thinking } = facts;
        const thinkingConfig = {
          ...amountOf(facts),
          ...(asksToThink(facts) ? { includeThoughts: true } : {}),
        };
        return {
          generationConfig: {
            ...defined({ maxOutputTokens }),
            ...(thinking === undefined ? {} : { thinkingConfig }),
          },
        };
      },
      // Models before Gemini 3 refuse a schema of the answer next to tools, and newer ones next to a forced tool.
      answersByTool: ({ model, hasTools, forcesTool }) =>
        hasTools && /(?:^|\/)gemini-/i.test(model) && (forcesTool || !GEMINI_3.test(model)),
      unsupportedShape: ({ verbosity }) => {
        return hasVerbosity(verbosity) ? "a verbosity" : undefined;
      },
      versionPath: "/v1beta",
      imagesInResults: true,
      imagesAfterResults: true,
      sendableThinking: signedThinking,
      signsCalls: true,
    },
  },
  {
    name: "Gemini 3 and later",
    api: "google-generative-ai",
    model: GEMINI_3,
    quirks: {
      imagesAfterResults: false,
      // The documented value for calls whose signature is not known: https://ai.google.dev/gemini-api/docs/thought-signatures
      foreignSignature: "skip_thought_signature_validator",
    },
  },
  {
    name: "Gemma",
    api: "google-generative-ai",
    model: /^gemma-/i,
    quirks: { systemInUser: true },
  },
];
