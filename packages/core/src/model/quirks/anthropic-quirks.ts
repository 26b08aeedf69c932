/** Quirks of the Messages API and of Claude models. */
import { MESSAGES_DIAGNOSING } from "./cache-diagnosis.ts";
import { isNativeSchema } from "./claude-schema.ts";
import { BUDGET_SHARE, nearestEffort, type Reasoning } from "./efforts.ts";
import {
  asksToThink,
  type CallFacts,
  hasVerbosity,
  type QuirkRow,
  type RequestBody,
  signedThinking,
} from "./quirk-kinds.ts";

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
const BOUND = { ...ADAPTIVE, block_binding: { prefix_mismatch_behavior: "drop_block" } };
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/** Models that think between tool calls at least, and ones that always think. */
const BETWEEN_TOOLS = /claude-sonnet-5-5/;
const ALWAYS_THINKS = /claude-(?:opus-5-5|fable-5)/;

/** Claude models that have no level above `high`. */
const HIGH_AT_MOST = /claude-(?:opus|sonnet)-4-6/;

function effortsOf(model: string): Reasoning[] {
  return ["low", "medium", "high", ...(HIGH_AT_MOST.test(model) ? [] : (["xhigh"] as const))];
}

/** Claude models that accept no forced tool call. */
const CALLS_FREELY = /claude-(?:sonnet-5-5|opus-5-5|fable-5-[12])/;
/** Claude models without JSON schemas for answers, as all models of other makers. */
const WITHOUT_SCHEMAS =
  /claude-(?:sonnet-4(?!-[56])[-@]|opus-4(?!-[15-8])[-@]|3(?=$|[-.])|instant|v?2(?=$|[-.:]))|^(?!.*claude-)/;

/** The longest answer of models that refuse a higher limit. The first pattern that matches counts. */
const LONGEST_ANSWERS: readonly (readonly [pattern: RegExp, tokens: number])[] = [
  [/claude-(?:(?:opus|sonnet|haiku)-5-5|opus-5|sonnet-5|fable-5|opus-4-[678]|sonnet-4-6)/, 128_000],
  [/claude-(?:sonnet|opus|haiku)-4-5/, 64_000],
  [/claude-opus-4[-@]/, 32_000],
  [/claude-sonnet-4[-@]/, 64_000],
  [/claude-3-haiku/, 4_096],
];
/** The longest answer of an unknown model, of which a thinking budget is a share. */
const SHORT_ANSWER = 4_096;
const LEAST_BUDGET = 1_024;

function longestAnswer(model: string): number | undefined {
  return LONGEST_ANSWERS.find(([pattern]) => pattern.test(model))?.[1];
}

function limitMember({ model, maxOutputTokens = OUTPUT_LIMIT }: CallFacts, budget = 0): RequestBody {
  return { max_tokens: Math.min(maxOutputTokens + budget, longestAnswer(model) ?? Infinity) };
}

/** Members that turn thinking off, as far as the model can. */
function withoutThought(model: string): RequestBody {
  if (BETWEEN_TOOLS.test(model)) return { thinking: { type: "between_tools" } };
  if (ALWAYS_THINKS.test(model)) return { output_config: { effort: "low" } };
  return { thinking: { type: "disabled" } };
}

function budgetMembers(facts: CallFacts): RequestBody {
  const { model, thinking } = facts;
  if (thinking === undefined) return limitMember(facts);
  if (thinking === "none") return { ...limitMember(facts), ...withoutThought(model) };
  const longest = longestAnswer(model) ?? SHORT_ANSWER;
  const budget = Math.min(longest, Math.max(LEAST_BUDGET, Math.round(longest * BUDGET_SHARE[thinking])));
  return { ...limitMember(facts, budget), thinking: { type: "enabled", budget_tokens: budget } };
}

function adaptiveMembers(facts: CallFacts, thought: RequestBody): RequestBody {
  const { model, thinking } = facts;
  if (thinking === "none") return { ...limitMember(facts), ...withoutThought(model) };
  return {
    ...limitMember(facts),
    thinking: thought,
    ...(thinking === undefined
      ? {}
      : { output_config: { effort: nearestEffort(thinking, effortsOf(model)) } }),
  };
}

export const ANTHROPIC_QUIRKS: readonly QuirkRow[] = [
  {
    name: "Messages API",
    api: "anthropic-messages",
    quirks: {
      loadProtocol: async () => (await import("../protocols/messages.ts")).MESSAGES,
      members: budgetMembers,
      outputLimit: OUTPUT_LIMIT,
      versionsAnyPath: true,
      imagesInResults: true,
      failedResults: true,
      cacheMarks: true,
      cacheDiagnosis: MESSAGES_DIAGNOSING,
      answersByTool: ({ model }, schema) => WITHOUT_SCHEMAS.test(model) || !isNativeSchema(schema),
      unsupportedShape: ({ responseFormat, verbosity }) => {
        if (responseFormat && !responseFormat.schema) return "a JSON answer without a schema";
        return hasVerbosity(verbosity) ? "a verbosity" : undefined;
      },
      // A budget of thinking excludes them.
      refusesForcedTools: (facts) => CALLS_FREELY.test(facts.model) || asksToThink(facts),
      sendableThinking: signedThinking,
      // Models with a thinking budget do; the adaptive ones do not.
      refusesUnsignedLoops: true,
      refusalsFail: true,
    },
  },
  {
    name: "Claude with adaptive thinking",
    api: "anthropic-messages",
    model: ADAPTIVE_CLAUDE,
    quirks: {
      members: (facts) =>
        facts.thinking === undefined ? limitMember(facts) : adaptiveMembers(facts, ADAPTIVE),
      refusesForcedTools: ({ model }) => CALLS_FREELY.test(model),
      refusesUnsignedLoops: false,
    },
  },
  {
    name: "Claude with bound thinking",
    api: "anthropic-messages",
    model: BOUND_CLAUDE,
    quirks: {
      // These think by default, so the option only changes the display.
      members: (facts) => adaptiveMembers(facts, BOUND),
      betas: ({ thinking }) => (thinking === "none" ? [] : [BINDING_BETA]),
      bindsThinking: true,
    },
  },
];
